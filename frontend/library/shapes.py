"""Shapes that are made of other shapes."""


def flipud(input):
    """the order along the first dim reversed"""
    return input.flip(0)


def fliplr(input):
    """the order along the second dim reversed"""
    return input.flip(1)


def hstack(tensors):
    """tensors side by side along the second dim, vectors along their only one"""
    return cat(tensors, 0 if tensors[0].ndim == 1 else 1)
