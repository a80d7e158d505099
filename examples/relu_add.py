"""The smallest op worth fusing: one pass over memory instead of two."""


def relu_add(x, y, bias: float):
    return relu(x) + y + bias
