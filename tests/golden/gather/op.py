def embed(weight, token, position):
    return weight[token] + position
