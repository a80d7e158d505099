def normalise(x, mean, std):  # images: [n, c, h, w]
    return (x / 255 - mean[:, None, None]) / std[:, None, None]
