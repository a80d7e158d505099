"""Make a detector's padded batch of boxes, as a collate function passes it to a loss, and save it.

    python examples/detections.py detections.pt --images 256 [--float]

The number of objects per image follows a geometric distribution with mean 7, limited to 100. The batch is padded with
zeros to `slots`. Targets are whole pixels of a 256-pixel image in uint8. A prediction differs from its target by a few
pixels; for padding, predictions are small boxes at random positions, as a network gives them for empty slots.
"""

import argparse

import torch


def detections(images: int, slots: int = 100, seed: int = 0) -> dict[str, torch.Tensor]:
    """Return pred: float32, and target: uint8; both [images, slots, 4], as (x1, y1, x2, y2) in pixels."""
    rng = torch.Generator().manual_seed(seed)
    counts = torch.empty(images).geometric_(1 / 7, generator=rng).clamp(max=slots)
    is_real = (torch.arange(slots) < counts[:, None])[..., None]

    size = torch.exp(torch.randn(images, slots, 2, generator=rng) * 0.8 + 3.4).clamp(4, 200)
    corner = torch.rand(images, slots, 2, generator=rng) * (255 - size)
    target = torch.where(is_real, torch.cat([corner, corner + size], -1), 0.0).to(torch.uint8)

    drift = torch.randn(images, slots, 4, generator=rng) * 3
    guess_corner = torch.rand(images, slots, 2, generator=rng) * 240
    guess = torch.cat([guess_corner, guess_corner + 12 * torch.rand(images, slots, 2, generator=rng)], -1)
    pred = torch.where(is_real, target.float() + drift, guess)
    return {"pred": pred, "target": target}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path")
    parser.add_argument("--images", type=int, default=256)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--float", action="store_true", help="targets in float32, as hand-written kernels take them")
    options = parser.parse_args()
    boxes = detections(options.images, seed=options.seed)
    torch.save({name: box.float() if options.float else box for name, box in boxes.items()}, options.path)
