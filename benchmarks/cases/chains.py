"""Long chains of ops, limited by arithmetic throughput. They are compared with hand-written kernels that compute the same
formula with the same roundings."""

from .case import Handwritten, Case, Tensors

SAME_ROUNDINGS = "--fmad=false"  # does not fuse products and sums, as Ingot does not
CHEAP = """
def cheap_chain(x, y):
    for _ in range({rounds}):
        x = torch.maximum(torch.abs(x * 0.75 + y) - 0.5, y)
    return x
"""
TRANSCENDENTALS = """
def transcendentals(x):
    x = torch.log1p(torch.exp(torch.tanh(x)))
    x = torch.expm1(torch.atan(torch.erf(torch.sin(x))))
    return torch.sqrt(torch.cos(torch.sigmoid(x)))
"""


def tensors(make: Tensors, count: int) -> tuple:
    return tuple(make.normal(make.either(make.n // 4, make.n)) for _ in range(count))


def cheap(ops: int) -> Case:
    rounds = ops // 5
    return Case(f"chain: {ops} cheap ops", CHEAP.format(rounds=rounds), lambda make: tensors(make, 2), autotune=False,
                handwritten=Handwritten("cheap_chain", options=(f"-DROUNDS={rounds}", SAME_ROUNDINGS)))


CASES = [
    cheap(50),
    cheap(200),
    Case("chain: 10 transcendentals", TRANSCENDENTALS, lambda make: tensors(make, 1),
         handwritten=Handwritten("transcendentals", options=(SAME_ROUNDINGS,))),
]
