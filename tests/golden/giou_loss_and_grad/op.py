def giou_loss(pred, target):  # boxes: [..., 4]
    lt, rb = maximum(pred[..., :2], target[..., :2]), minimum(pred[..., 2:], target[..., 2:])
    w, h = (rb - lt).clamp(min=0).unbind(-1)
    overlap = w * h
    def area(box):
        return (box[..., 2] - box[..., 0]) * (box[..., 3] - box[..., 1])
    union = area(pred) + area(target) - overlap
    elt, erb = minimum(pred[..., :2], target[..., :2]), maximum(pred[..., 2:], target[..., 2:])
    ew, eh = (erb - elt).clamp(min=0).unbind(-1)
    hull = ew * eh
    giou = overlap / (union + 1e-7) - (hull - union) / (hull + 1e-7)
    valid = area(target) > 0
    return sum(where(valid, 1 - giou, 0.0))
