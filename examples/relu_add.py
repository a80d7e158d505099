"""The smallest op worth fusing: two passes over memory become one."""


def relu_add(x, y, bias: float):
    return relu(x) + y + bias
