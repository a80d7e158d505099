def giou(pred, target):  # boxes: [..., 4]
    lt, rb = maximum(pred[..., :2], target[..., :2]), minimum(pred[..., 2:], target[..., 2:])
    w, h = (rb - lt).clamp(min=0).unbind(-1)
    overlap = w * h
    pw, ph = (pred[..., 2:] - pred[..., :2]).unbind(-1)
    tw, th = (target[..., 2:] - target[..., :2]).unbind(-1)
    union = pw * ph + tw * th - overlap
    hull_lt = minimum(pred[..., :2], target[..., :2])
    hull_rb = maximum(pred[..., 2:], target[..., 2:])
    cw, ch = (hull_rb - hull_lt).unbind(-1)
    hull = cw * ch
    return overlap / union - (hull - union) / hull
