def standard_scores(x):
    d = x - x.mean()
    return d * rsqrt((d * d).mean() + 1e-6)
