def column_sum(x, y):
    return (x * y).sum(0)
