def embed(table, i, j, x):
    return where(i >= 0, table[i] * x, -x), where(i >= 0, table[j], 1.0)
