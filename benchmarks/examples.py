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
RUN = ("date", "device", "ingot", "torch", "cuda", "op", "file", "arguments", "sizes", "seed", "backward", "numerics", "lazy",
       "graph", "rounds", "copy_gb_s")
CANDIDATE = ("name", "state", "us", "share_of_copy", "speedup")
BASELINES = ("eager", "torch.compile", "torch.compile:max-autotune-no-cudagraphs")


def preparation(path: pathlib.Path) -> list[str]:
    """The arguments of `python` in a file's first comment, which makes the data of the comparison; empty if there is
    none."""
    found = re.search(r"^//\s+python (.*)$", path.read_text(), re.MULTILINE)
    return shlex.split(found[1]) if found else []


def compare_line(path: pathlib.Path) -> list[str]:
    """The arguments of `ingot compare` in a file's first comment."""
    found = re.search(r"^//\s+ingot compare (.*(?:\n//\s{4,}\S.*)*)", path.read_text(), re.MULTILINE)[1]
    return shlex.split(re.sub(r"\n//", " ", found))


def groups() -> dict[str, list[pathlib.Path]]:
    """The kernels of each op, keyed by the name of its first kernel."""
    found: dict[str, list[pathlib.Path]] = {}
    for path in sorted(FOLDER.glob("*.cu")):
        found.setdefault(path.stem.removesuffix("_expert"), []).append(path)
    return found


def compared(kernels: list[pathlib.Path], baselines: tuple[str, ...], size: str | None, more: list[str]) -> dict:
    """The document of a comparison; of one that failed, {"error": …}."""
    words = [f"n={size}" if size and word.startswith("n=") else word for word in compare_line(kernels[0])]
    if script := preparation(kernels[0]):
        subprocess.run([sys.executable, *script], cwd=ROOT, check=True)
    at = words.index(str(kernels[0].relative_to(ROOT)))
    words[at : at + 1] = [str(path.relative_to(ROOT)) for path in kernels] + list(baselines)
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        done = subprocess.run([sys.executable, "-m", "ingot", "compare", *words, *more, "--save", file.name], cwd=ROOT,
                              capture_output=True, text=True)
        print(done.stdout, done.stderr, flush=True)
        text = pathlib.Path(file.name).read_text()
    return json.loads(text) | {"status": done.returncode} if text else {"error": done.stderr, "status": done.returncode}


def to_save(found: dict) -> dict:
    """The identity of a comparison and the figures that the tables need of each candidate; {"error": …} as it is."""
    if "error" in found:
        return found
    return {"run": {key: found.get(key) for key in RUN},
            "candidates": [{key: each.get(key) for key in CANDIDATE} for each in found["candidates"]]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(groups()), help="ops to compare; default: all")
    parser.add_argument("--save", type=pathlib.Path, metavar="FILE", help="save the results as JSON")
    parser.add_argument("--baselines", type=lambda names: tuple(filter(None, names.split(","))), default=BASELINES,
                        help="comma-separated baselines; default: " + ",".join(BASELINES))
    parser.add_argument("--size", metavar="N", help="replaces n in the compare lines")
    options, more = parser.parse_known_args()
    found = {}
    for name in options.names:
        begin = time.monotonic()
        found[name] = compared(groups()[name], options.baselines, options.size, more)
        print(f"{name}: {time.monotonic() - begin:.0f} s\n", flush=True)
        if options.save:
            options.save.write_text(saved.as_text({name: to_save(each) for name, each in found.items()}))
    sys.exit(any(each["status"] for each in found.values()))


if __name__ == "__main__":
    main()
