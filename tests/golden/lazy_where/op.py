def loss(pred, target):  # boxes: [..., 4]; a target without area has no loss
    area = (target[..., 2] - target[..., 0]) * (target[..., 3] - target[..., 1])
    w, h = (minimum(pred[..., 2:], target[..., 2:]) - maximum(pred[..., :2], target[..., :2])).clamp(min=0).unbind(-1)
    overlap = w * h
    pw, ph = (pred[..., 2:] - pred[..., :2]).unbind(-1)
    return where(area > 0, 1 - overlap / (pw * ph + area - overlap), 0.0)
