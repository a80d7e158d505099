def relu_add(x, y, bias: float):
    return relu(x) + y + bias
