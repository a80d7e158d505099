def loss(logits, target):
    return F.cross_entropy(logits, target)
