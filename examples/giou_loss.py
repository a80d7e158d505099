"""The loss as people train with it: 1 - GIoU of every box that is there, and the mean over those (Rezatofighi et al., 2019).

Boxes are [..., 4], (x1, y1, x2, y2); a padded batch has targets without an area, which count for nothing and whose
predictions need not be read. It is one pass over the boxes; then the sums that its blocks have found are made one.
Targets may be whole pixels, in bytes: as the predictions are, their areas have room.
"""


def area(box):
    return (box[..., 2] - box[..., 0]) * (box[..., 3] - box[..., 1])


def giou_loss(pred, target, eps: float = 1e-7):
    target = target.to(pred.dtype)
    low, high = maximum(pred[..., :2], target[..., :2]), minimum(pred[..., 2:], target[..., 2:])
    w, h = (high - low).clamp(min=0).unbind(-1)
    overlap = w * h
    union = area(pred) + area(target) - overlap
    low, high = minimum(pred[..., :2], target[..., :2]), maximum(pred[..., 2:], target[..., 2:])
    w, h = (high - low).clamp(min=0).unbind(-1)
    hull = w * h
    giou = overlap / (union + eps) - (hull - union) / (hull + eps)
    valid = area(target) > 0
    return where(valid, 1 - giou, 0).sum() / clamp(valid.sum(), min=1)
