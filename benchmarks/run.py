"""Runs the benchmarks. Prints tables of measurements and thresholds (thresholds.toml); fails if a threshold is missed.

    python benchmarks/run.py                            all parts that this machine can run
    python benchmarks/run.py gpu                        large tensors on the GPU; also: gpu-small, gpu-reductions, gpu-few,
                                                        gradients, graphs, calls, cpu, cpu-reductions, random-shapes,
                                                        cpu-random-shapes
    python benchmarks/run.py gpu --only 'one off*'      some cases
    python benchmarks/run.py gpu --quick                without baselines, compared with a copy only
    python benchmarks/run.py --save results.json        also saves the results
    python benchmarks/run.py random-shapes --seed 7     200 random cases of seed 7; also: --count 100
    python benchmarks/run.py random-shapes --case 7:12  case 12 of seed 7

`ingot` must be importable. Ops are timed by `ingot.compare` (measure.py). Programs that are more than one call of an op are
timed by the same clock (steps.py). All candidates of a case run in alternating rounds.
"""

import argparse
import datetime
import fnmatch
import pathlib
import platform
import sys
import time
from typing import Callable, Iterable, Iterator

import torch

import ingot
import latency
import measure
import saved
import steps
from cases import (FEW_TO_REDUCE, GRADIENTS, GRAPHS, ON_THE_CPU, ON_THE_GPU, REDUCTIONS, REDUCTIONS_ON_THE_CPU, SMALL,
                   VALUE_AND_GRAD, random_shapes)
from compile_ahead import compiled_ahead
from measure import BASELINES
from report import WIDTH, check_limits, print_and_check, print_table, summarize


def machine() -> dict:
    facts = {"date": datetime.date.today().isoformat(), "torch": torch.__version__, "ingot": ingot.__version__,
             "cpu": cpu_model(), "threads": torch.get_num_threads(), "python": platform.python_version()}
    if torch.cuda.is_available():
        facts |= {"gpu": torch.cuda.get_device_name(), "cuda": torch.version.cuda}
    return facts


def cpu_model() -> str:
    info = pathlib.Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def has_gpu() -> bool:
    if not torch.cuda.is_available():
        print("\nThere is no GPU: this part is skipped.")
    return torch.cuda.is_available()


def gpu(options: argparse.Namespace) -> tuple[dict, list[str]]:
    if not has_gpu():
        return {}, []
    rows, failures = measure_cases(options, "large", "large tensors on the GPU, fraction of copy bandwidth",
                                   "share_of_copy", BASELINES, ON_THE_GPU, measure.large)
    return {"large": rows}, failures


def gpu_small(options: argparse.Namespace) -> tuple[dict, list[str]]:
    if not has_gpu():
        return {}, []
    rows, failures = measure_cases(options, "small", "calls on small tensors on the GPU, microseconds", "microseconds",
                                   ("eager", "compile", "jiterator"), SMALL, measure.small)
    return {"small": rows}, failures


def gpu_reductions(options: argparse.Namespace) -> tuple[dict, list[str]]:
    if not has_gpu():
        return {}, []
    rows, failures = measure_cases(options, "reductions", "reductions on the GPU, fraction of copy bandwidth",
                                   "share_of_copy", BASELINES, REDUCTIONS, measure.large)
    return {"reductions": rows}, failures


def gpu_few(options: argparse.Namespace) -> tuple[dict, list[str]]:
    if not has_gpu():
        return {}, []
    rows, failures = measure_cases(options, "few-to-reduce", "reductions of few elements in a CUDA graph, microseconds",
                                   "microseconds", ("eager", "compile"), FEW_TO_REDUCE, measure.few)
    return {"few_to_reduce": rows}, failures


def cpu(options: argparse.Namespace) -> tuple[dict, list[str]]:
    rows, failures = measure_cases(options, "cpu", "2^20 elements on the CPU, microseconds", "microseconds",
                                   ("eager", "compile"), ON_THE_CPU, measure.on_the_cpu)
    return {"cpu": rows}, failures


def cpu_reductions(options: argparse.Namespace) -> tuple[dict, list[str]]:
    rows, failures = measure_cases(options, "cpu-reductions", "reductions on the CPU, microseconds", "microseconds",
                                   ("eager", "compile"), REDUCTIONS_ON_THE_CPU, measure.on_the_cpu)
    return {"cpu_reductions": rows}, failures


def gradients(options: argparse.Namespace) -> tuple[dict, list[str]]:
    if not has_gpu():
        return {}, []
    def alone_and_with_call(cases: Iterable, selected: tuple[str, ...]) -> Iterator[dict]:
        for case in cases:
            yield from measure.gradients([case], selected)
            yield from steps.calls_with_gradients([case], selected)

    rows, failures = measure_cases(options, "gradients", "gradients on the GPU, alone and with the forward call, microseconds",
                                   "microseconds",
                                   ("eager", "compile"), GRADIENTS, alone_and_with_call)
    values, more_failures = measure_cases(options, "values-and-gradients",
                                          "losses with their gradients, fraction of copy bandwidth", "share_of_copy", ("eager", "compile"), VALUE_AND_GRAD, steps.losses_with_gradients)
    return {"gradients": rows, "values_and_gradients": values}, failures + more_failures


def graphs(options: argparse.Namespace) -> tuple[dict, list[str]]:
    if not has_gpu():
        return {}, []
    rows, failures = measure_cases(options, "graphs", "loops in CUDA graphs and training steps, microseconds", "microseconds",
                                   ("eager", "compile", "handwritten"), GRAPHS, steps.programs)
    return {"graphs": rows}, failures


def calls(options: argparse.Namespace) -> tuple[dict, list[str]]:
    devices = ["cpu"] + ["cuda"] * torch.cuda.is_available()
    warm = [latency.warm_call(device) for device in devices]
    cpp = [row for device in devices if (row := latency.cpp_call(options.build, device))]
    for rows, api in ((warm, "Python"), (cpp, "C++")):
        for row in rows:
            print_table(f"a warm call from {api} on {row['device']}, microseconds", list(row["microseconds"]),
                        [list(row["microseconds"].values())])
    first = [latency.first_call(device) for device in devices]
    for row in first:
        print_table(f"first call in a new process on {row['device']}, milliseconds", ["", *row["cold_ms"]],
                    [["cold", *row["cold_ms"].values()], ["warm disk", *row["warm_disk_ms"].values()]])
    costs = latency.costs(warm, cpp, first)
    return {"first_call": first, "warm_call": warm, "cpp_call": cpp}, check_limits(costs) if costs else []


def gpu_random_shapes(options: argparse.Namespace) -> tuple[dict, list[str]]:
    if not has_gpu():
        return {}, []
    return measure_random_shapes(options, "random-shapes", "cuda", 1.0, measure.random_shapes)


def cpu_random_shapes(options: argparse.Namespace) -> tuple[dict, list[str]]:
    return measure_random_shapes(options, "cpu-random-shapes", "cpu", random_shapes.CPU_SCALE, measure.random_shapes_on_the_cpu)


def measure_random_shapes(options: argparse.Namespace, part: str, device: str, scale: float,
                          measure_rows: Callable) -> tuple[dict, list[str]]:
    seed, indices = (options.case[0], [options.case[1]]) if options.case else (options.seed, range(options.count))
    cases = select_cases(options, [random_shapes.random_case(seed, index, scale) for index in indices])
    baselines = tuple(baseline for baseline in ("eager", "compile") if baseline in options.baselines)
    width = max((len(f"all threads: {case.name}") for case in cases), default=WIDTH)
    with compiled_ahead(cases, device, baselines):
        rows, failures = measure_cases(options, part, f"random shapes of seed {seed}, fraction of copy bandwidth", "share_of_copy",
                                       baselines, cases, measure_rows, width)
    key = part.replace("-", "_")
    return {key: rows, f"{key}_summary": {"seed": seed, "groups": summarize(part, rows)}}, failures


def seed_and_index(text: str) -> tuple[int, int]:
    seed, index = map(int, text.split(":"))
    return seed, index


def select_cases(options: argparse.Namespace, cases: list) -> list:
    return [case for case in cases if any(fnmatch.fnmatch(case.name, pattern) for pattern in options.only or ["*"])]


def measure_cases(options: argparse.Namespace, part: str, title: str, kind: str, baselines: tuple[str, ...], cases: list,
                  measure_rows: Callable, width: int = WIDTH) -> tuple[list[dict], list[str]]:
    """Measures the chosen cases with the chosen baselines. Returns the rows, and a line per failure. `part`, `kind` and `width`: as in
    `print_and_check`."""
    rows: list[dict] = []
    chosen_cases = select_cases(options, cases)
    selected = tuple(baseline for baseline in baselines if baseline in options.baselines)
    if not chosen_cases:
        return [], []

    not_started: list = []

    def in_time() -> Iterator:
        for k, case in enumerate(chosen_cases):
            if time.monotonic() > options.end:
                not_started.extend(chosen_cases[k:])
                return
            yield case

    def measured_rows() -> Iterator[dict]:
        for row in measure_rows(in_time(), selected):
            rows.append(row)
            yield row
        if not_started:
            yield {"case": f"{len(not_started)} more, from {not_started[0].name} on", "group": "",
                   "errors": {"ingot": "no time was left"}}

    return rows, print_and_check(title, part, kind, ["ingot", *selected], measured_rows(), width)


def main() -> None:
    parts = {"gpu": gpu, "gpu-small": gpu_small, "gpu-reductions": gpu_reductions, "gpu-few": gpu_few, "gradients": gradients,
             "graphs": graphs, "calls": calls, "cpu": cpu, "cpu-reductions": cpu_reductions, "random-shapes": gpu_random_shapes,
             "cpu-random-shapes": cpu_random_shapes}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", default=list(parts), help=", ".join(parts))
    parser.add_argument("--only", metavar="PATTERN", action="append",
                        help="measure only the cases whose names match this file pattern; may be repeated")
    parser.add_argument("--baselines", type=lambda names: tuple(names.split(",")), default=BASELINES,
                        help="comma-separated baselines to time: " + ",".join(BASELINES))
    parser.add_argument("--quick", action="store_const", const=(), dest="baselines",
                        help="time no baselines, compare with a copy only")
    parser.add_argument("--within", metavar="SECONDS", type=float, default=1e6,
                        help="start no case after this time, and fail if cases are left")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the random cases; default: 0")
    parser.add_argument("--count", type=int, default=200, help="the number of random cases; default: 200")
    parser.add_argument("--case", metavar="SEED:INDEX", type=seed_and_index, help="measure only this random case")
    parser.add_argument("--save", metavar="FILE", type=pathlib.Path, help="save the results as JSON")
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path(__file__).parent.parent / "build",
                        help="the build folder, with the C++ benchmark")
    options = parser.parse_args()
    if unknown := {*options.parts} - {*parts} | {*options.baselines} - {"ingot", "copy", *BASELINES}:
        parser.error(f"no such part or baseline: {', '.join(sorted(unknown))}")
    options.end = time.monotonic() + options.within

    results: dict = {"machine": machine()}
    print("  ".join(f"{k}: {v}" for k, v in results["machine"].items()))
    failures = []
    for part in options.parts:
        part_results, part_failures = parts[part](options)
        results |= part_results
        failures += part_failures
    if options.save:
        options.save.write_text(saved.as_text(results | {"failures": failures}))
    if failures:
        print("\nfailures:", *failures, sep="\n  ")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
