"""Generalised intersection over union: one loss per box (Rezatofighi et al., CVPR 2019).

Boxes are [..., 4] as (x1, y1, x2, y2). A batch of images is padded to its longest list of boxes. Padding boxes have no
area, and their loss is 0.
"""

import torch


def area(box):
    return (box[..., 2] - box[..., 0]) * (box[..., 3] - box[..., 1])


def giou(pred, target, eps: float = 1e-7):
    target = target.to(pred.dtype)  # labels often come as uint8
    lt = torch.max(pred[..., :2], target[..., :2])
    rb = torch.min(pred[..., 2:], target[..., 2:])
    wh = (rb - lt).clamp(0)
    overlap = wh[..., 0] * wh[..., 1]
    target_area = area(target)
    union = area(pred) + target_area - overlap
    iou = overlap / (union + eps)

    outer_lt = torch.min(pred[..., :2], target[..., :2])
    outer_rb = torch.max(pred[..., 2:], target[..., 2:])
    outer_wh = (outer_rb - outer_lt).clamp(0)
    hull = outer_wh[..., 0] * outer_wh[..., 1]
    giou = iou - (hull - union) / (hull + eps)
    return torch.where(target_area > 0, 1 - giou, 0.0)
