def hinge(score, label, mask):
    margin = where(label > 0, 1 - score, 1 + score)
    wrong = (margin > 1) & mask | isnan(score)
    return where(wrong, margin, 0.0), wrong
