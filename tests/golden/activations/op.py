gelu(x + y) * sigmoid(y) + x
