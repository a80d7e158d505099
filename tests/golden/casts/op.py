def quantise(x, scale, zero):
    q = clamp(round(x / scale) + zero, 0, 255).to(torch.uint8)
    return q, (q.float() - zero) * scale
