"""All benchmarks in one run; prints tables and keeps the numbers.

    python benchmarks/run.py                       everything that this machine can run
    python benchmarks/run.py --save results.json   and keep it

Needs `ingot` importable. What is compared is measured in the same run, in turns.
"""

import argparse
import datetime
import json
import pathlib
import platform
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import torch  # noqa: E402

import ingot  # noqa: E402
import latency  # noqa: E402
import throughput  # noqa: E402


def machine() -> dict:
    facts = {"date": datetime.date.today().isoformat(), "torch": torch.__version__, "ingot": ingot.__version__,
             "cpu": cpu_model(), "python": platform.python_version()}
    if torch.cuda.is_available():
        facts |= {"gpu": torch.cuda.get_device_name(), "cuda": torch.version.cuda}
    return facts


def cpu_model() -> str:
    info = pathlib.Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def table(title: str, header: list[str], rows: list[list]) -> None:
    cells = [header] + [[f"{c:.3g}" if isinstance(c, float) else str(c) for c in row] for row in rows]
    widths = [max(len(row[k]) for row in cells) for k in range(len(header))]
    print(f"\n{title}")
    for row in cells:
        print("  " + "  ".join(c.ljust(w) if k == 0 else c.rjust(w) for k, (c, w) in enumerate(zip(row, widths))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", metavar="FILE", help="write all numbers as JSON")
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path(__file__).parent.parent / "build")
    options = parser.parse_args()
    results: dict = {"machine": machine()}
    print("  ".join(f"{k}: {v}" for k, v in results["machine"].items()))

    devices = ["cpu"] + ["cuda"] * torch.cuda.is_available()
    results["first_call"] = [latency.first_call(device) for device in devices]
    table("first call of relu_add in a new process, milliseconds", ["device", "cold", "warm disk"],
          [[r["device"], r["cold_ms"], r["warm_disk_ms"]] for r in results["first_call"]])

    results["warm_call"] = [latency.warm_call(device) for device in devices]
    results["cpp_call"] = [r for device in devices if (r := latency.cpp_call(options.build, device))]
    for kind, door in (("warm_call", "Python"), ("cpp_call", "C++")):
        for r in results[kind]:
            table(f"a warm call from {door} on {r['device']}, microseconds", list(r["microseconds"]),
                  [list(r["microseconds"].values())])

    if torch.cuda.is_available():
        results["gpu"] = throughput.gpu()
        table("large tensors on the GPU, share of a device copy's speed",
              ["op", *results["gpu"][0]["share_of_copy"]],
              [[r["op"], *r["share_of_copy"].values()] for r in results["gpu"]])

    results["cpu"] = throughput.cpu()
    table("one CPU thread, 2^20 elements, nanoseconds an element",
          ["op", "ingot", "eager", "torch.compile", "times eager", "times torch.compile"],
          [[r["op"], *r["nanoseconds_per_element"].values(), r["times_eager"], r["times_torch_compile"]]
           for r in results["cpu"]])

    if options.save:
        pathlib.Path(options.save).write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
