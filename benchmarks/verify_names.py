"""Compares every supported function of one tensor with eager PyTorch and float64, on all 16-bit and all 32-bit floats. Prints the
functions whose results are not eager's bit for bit.

    python benchmarks/verify_names.py [--within SECONDS] [--device cpu]
"""

import argparse
import sys
import time

import torch

import ingot
from ingot.tools import verification


def ops_of_unary_functions() -> list:
    """An op for each supported function that can be called with one tensor alone, under its main name, without its aliases."""
    ops = []
    for function in ingot.language():
        if not function.is_function:
            continue
        try:
            text = verification.text_of_name(function.name)
        except ingot.Error:  # not all of its arguments are tensors
            continue
        if text == f"{function.name}(x)":
            ops.append(ingot.op(text))
    return ops


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--within", type=float, default=1e6, metavar="SECONDS",
                        help="start no function after this time, and fail if functions are left")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--dtypes", type=lambda names: tuple(names.split(",")), default=("f16", "bf16", "f32"))
    options = parser.parse_args()
    deadline, failures, not_started, count = time.monotonic() + options.within, [], [], 0
    for op in ops_of_unary_functions():
        if time.monotonic() > deadline:
            not_started.append(op.text)
            continue
        count += 1
        for statistics in verification.statistics(op, options.dtypes, options.device):
            share = statistics.as_eager / statistics.inputs
            if share < 1 or statistics.incorrect:
                dtype = str(statistics.dtype).removeprefix("torch.")
                print(f"{op.text:24} {dtype:9} {share:.6%} eager's bits, worst error {statistics.worst:.3g} ulp "
                      f"(eager {statistics.worst_of_eager:.3g}){f', {statistics.incorrect} INCORRECT' * bool(statistics.incorrect)}", flush=True)
            if first := statistics.first_incorrect:
                failures.append(f"{op.text}: {first['call']} is {first['ours']}, eager {first['eager']}")
    print(f"{count} functions compared; those not listed above have eager's bits on all inputs")
    print(*failures, *[f"no time was left for {len(not_started)} functions: {', '.join(not_started)}"] * bool(not_started), sep="\n")
    sys.exit(bool(failures or not_started))


if __name__ == "__main__":
    main()
