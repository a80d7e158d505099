def padded(x):
    return F.pad(x, (1, 2), value=0.5)
