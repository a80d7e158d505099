"""A product with whatever broadcasts: a mask, a column, a scalar tensor."""


def mul(x, y):
    return x * y
