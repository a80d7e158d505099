def lerp_noise(x, noise, t: float, steps: int = 10, flip: bool = False):
    a = 1 - t / steps
    return a ** 0.5 * x + (1 - a) ** 0.5 * noise * (-1 if flip else 1), x / t
