def denoise(eps, sample, noise, table, t):  # table: [5, steps], t: an integer tensor
    x0 = clamp((sample - table[0, t] * eps) * table[1, t], -1, 1)
    return table[2, t] * x0 + table[3, t] * sample + table[4, t] * noise
