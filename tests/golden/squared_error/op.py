def squared_error(x, y):
    return mean((x - y) ** 2)
