"""The loss as used in training: the mean of 1 - GIoU over all valid boxes (Rezatofighi et al., 2019).

Boxes are [..., 4] as (x1, y1, x2, y2). A padded batch has targets of no area. They do not contribute to the loss, and
their predictions need not be read. The kernel makes one pass over the boxes and then adds up the blocks' sums. Targets
may be whole pixels in uint8: the cast to the predictions' dtype keeps their areas from overflowing.
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
