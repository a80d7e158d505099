def bias_gelu(x, b, r):
    return F.gelu(x + b) + r
