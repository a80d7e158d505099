def shifted(x):
    return x[:, 1:] - x[:, :-1], x.flip(-1)
