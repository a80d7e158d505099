def dropout(x, r, p: float):
    return F.dropout(x, p) + r
