"""Compares the kernels of examples/handwritten, usual ones and experts' ones, with Ingot, eager PyTorch and torch.compile.
Runs the compare lines in their first comments.

    python benchmarks/examples.py --save results.json
"""

import argparse
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time

import saved

ROOT = pathlib.Path(__file__).parents[1]
FOLDER = ROOT / "examples" / "handwritten"
COMPARISON_FIELDS = ("date", "device", "ingot", "torch", "cuda", "op", "file", "arguments", "sizes", "seed", "backward",
                     "numerics", "lazy", "graph", "rounds", "copy_gb_s")
CANDIDATE_FIELDS = ("name", "state", "us", "share_of_copy", "speedup")
BASELINES = ("eager", "torch.compile", "torch.compile:max-autotune-no-cudagraphs")


def preparation(path: pathlib.Path) -> list[str]:
    """The arguments of `python` in a file's first comment, which makes the data of the comparison; empty if there is
    none."""
    match = re.search(r"^//\s+python (.*)$", path.read_text(), re.MULTILINE)
    return shlex.split(match[1]) if match else []


def compare_line(path: pathlib.Path) -> list[str]:
    """The arguments of `ingot compare` in a file's first comment."""
    line = re.search(r"^//\s+ingot compare (.*(?:\n//\s{4,}\S.*)*)", path.read_text(), re.MULTILINE)[1]
    return shlex.split(re.sub(r"\n//", " ", line))


def groups() -> dict[str, list[pathlib.Path]]:
    """The kernels of each op, keyed by the name of its first kernel."""
    kernels: dict[str, list[pathlib.Path]] = {}
    for path in sorted(FOLDER.glob("*.cu")):
        kernels.setdefault(path.stem.removesuffix("_expert"), []).append(path)
    return kernels


def run_comparison(kernels: list[pathlib.Path], baselines: tuple[str, ...], size: str | None, more_arguments: list[str]) -> dict:
    """The document of a comparison; of one that failed, {"error": …}."""
    words = [f"n={size}" if size and word.startswith("n=") else word for word in compare_line(kernels[0])]
    if script := preparation(kernels[0]):
        subprocess.run([sys.executable, *script], cwd=ROOT, check=True)
    index = words.index(str(kernels[0].relative_to(ROOT)))
    words[index : index + 1] = [str(path.relative_to(ROOT)) for path in kernels] + list(baselines)
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        process = subprocess.run([sys.executable, "-m", "ingot", "compare", *words, *more_arguments, "--save", file.name], cwd=ROOT,
                                 capture_output=True, text=True)
        print(process.stdout, process.stderr, flush=True)
        text = pathlib.Path(file.name).read_text()
    return (json.loads(text) if text else {"error": process.stderr}) | {"status": process.returncode}


def result_to_save(comparison: dict) -> dict:
    """The identity of a comparison, and the figures of each candidate that the tables need. {"error": …} stays as it is."""
    if "error" in comparison:
        return comparison
    return {"run": {key: comparison.get(key) for key in COMPARISON_FIELDS},
            "candidates": [{key: candidate.get(key) for key in CANDIDATE_FIELDS} for candidate in comparison["candidates"]]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(groups()), help="ops to compare; default: all")
    parser.add_argument("--save", type=pathlib.Path, metavar="FILE", help="save the results as JSON")
    parser.add_argument("--baselines", type=lambda names: tuple(filter(None, names.split(","))), default=BASELINES,
                        help="comma-separated baselines; default: " + ",".join(BASELINES))
    parser.add_argument("--size", metavar="N", help="replaces n in the compare lines")
    options, more_arguments = parser.parse_known_args()
    comparisons = {}
    for name in options.names:
        begin = time.monotonic()
        comparisons[name] = run_comparison(groups()[name], options.baselines, options.size, more_arguments)
        print(f"{name}: {time.monotonic() - begin:.0f} s\n", flush=True)
        if options.save:
            options.save.write_text(saved.as_text({name: result_to_save(comparison) for name, comparison in comparisons.items()}))
    sys.exit(any(comparison["status"] for comparison in comparisons.values()))


if __name__ == "__main__":
    main()
