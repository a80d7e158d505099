def swiglu(x):
    gate, value = x.chunk(2, -1)
    return F.silu(gate) * value
