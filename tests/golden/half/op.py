def scaled_silu(x, w):
    return silu(x) * w
