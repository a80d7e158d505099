"""`ingot verify`."""

from __future__ import annotations

import argparse
import json
import pathlib

import ingot

from ...capture import author_error
from .. import comparison, verification
from ..dtypes import DTYPES
from ..job import fixed_values_in, read_values
from .options import (IS_VALUE, VALUES, add_op, clear_progress, count, device_of, file_and_name, op_of, print_output, seed,
                      show_fraction, values_and_sizes)


def add(commands) -> None:
    parser = commands.add_parser(
        "verify", help="check an op on every input, dtype and layout", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Checks an op against eager PyTorch and float64. An elementwise function of one tensor runs on every input, one of\n"
        "two tensors on many pairs, and any op on random arguments of each dtype and layout. The gradient is checked, too.",
        epilog=f"{VALUES}\nExit status: 1 if a result is incorrect, 2 for bad input, 4 if the machine lacks something.")
    add_op(parser, takes_functions=True)
    parser.add_argument("--dtype", type=lambda names: tuple(names.split(",")), metavar="DTYPE,…",
                        help="the dtypes to check (default: f16,bf16,f32); any of " + ",".join(DTYPES))
    parser.add_argument("--pairs", type=count, default=verification.PAIRS, metavar="N",
                        help=f"the number of random pairs for a function of two tensors (default: {verification.PAIRS})")
    parser.add_argument("--device", metavar="DEVICE", help="cpu, cuda or cuda:N; the default is cuda if there is a GPU, else cpu")
    parser.add_argument("--seed", type=seed, default=0, metavar="N", help="the seed of the random numbers (default: 0)")
    parser.add_argument("--json", action="store_true", help="print the whole report as JSON")
    parser.set_defaults(run=run)


def run(options) -> int:
    if unknown := [d for d in options.dtype or () if d not in DTYPES]:
        raise author_error(f"there is no dtype `{unknown[0]}` to verify", f"there are {', '.join(DTYPES)}")
    verifications, device = [], device_of(options.device)
    for op, values, fixed_values in _ops_to_verify(options):
        verifications.append(verification.verify(op, values, options.dtype, device, options.pairs, options.seed, show_fraction,
                                                 fixed_values))
        clear_progress()
        if not options.json:
            print_output(verification.text(verifications[-1]))
    if options.json:
        print_output(json.dumps([result.as_json() for result in verifications], indent=1))
    return comparison.EXIT_OK if all(result.is_correct for result in verifications) else comparison.EXIT_INCORRECT


def _ops_to_verify(options):
    """The ops to verify, each with its arguments (None without any) and the names of the arguments that must stay in their range."""
    words = list(options.op)
    op_options = {"numerics": options.numerics, "lazy": options.lazy}
    is_file = options.expression is not None or (words and pathlib.Path(file_and_name(words[0])[0]).suffix == ".py")
    if not is_file:
        if not words:
            raise author_error("there is nothing to verify", "name supported functions, a FILE[:op], or an expression with -e")
        if values := [word for word in [*words, *options.values] if IS_VALUE.match(word)]:
            raise author_error(f"`{values[0]}` is a value, but {words[0]} is the name of a function",
                               f'write an expression: -e "{words[0]}(x)" {values[0]}')
        yield from ((ingot.op(verification.text_of_name(name), **op_options), None, []) for name in words)
        return
    op, _ = op_of(options, words)
    values, sizes = values_and_sizes(op, [*words, *options.values])
    yield op, read_values(op, values, options.seed, sizes) if values else None, fixed_values_in(values)
