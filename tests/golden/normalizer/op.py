def normalizer(x):
    return x.logsumexp(-1)
