def softmax(x):
    m = x.amax(-1, keepdim=True)
    e = exp(x - m)
    return e / e.sum(-1, keepdim=True)
