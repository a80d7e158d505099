def mix(a, b):
    low, high = a & 15, a >> 4
    return (low * 3 + high) % 7 + b // 2, (a << 1) ^ b
