#!/usr/bin/env bash
# wheel.sh SOURCE PYTHON: makes a wheel as `pip install .` does, outside the tree, and calls an op from it. Unoptimised,
# which takes half the time.
set -euo pipefail
source=$1 python=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$python" -m pip wheel "$source" --quiet --no-deps --no-build-isolation --no-index --wheel-dir "$work" \
  -C build-dir="$work/build" -C cmake.define.CMAKE_CXX_FLAGS_RELEASE=-O0
"$python" -m zipfile -e "$work"/ingot-*.whl "$work/site"

cd "$work"
PYTHONPATH=$work/site "$python" - "$work/site" <<'PROGRAM'
import sys
import ingot
import torch

assert ingot.__file__.startswith(sys.argv[1]), ingot.__file__
x, y = torch.randn(7, 5), torch.randn(5)
op = ingot.op("relu(x) + y")
assert torch.equal(op(x, y), torch.relu(x) + y)
assert "class Bench" in ingot.explain(op, x, y, device="cpu").html()  # the page's files are of the package
PROGRAM
readelf -d site/ingot/libingot.so | grep -qF 'path: [$ORIGIN:$ORIGIN/../torch/lib:$ORIGIN/../nvidia/cu13/lib]'
