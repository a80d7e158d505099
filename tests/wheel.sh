#!/usr/bin/env bash
# wheel.sh SOURCE BINARY PYTHON: makes a wheel as `pip install .` does, but from the files that BINARY has compiled
# already. Then it unpacks the wheel outside the source tree and calls an op from it.
set -euo pipefail
source=$1 binary=$2 python=$3
work=$(mktemp -d)
trap 'cd "$source"; rm -rf "$work"; cmake "$binary" -U "SKBUILD*" -U CMAKE_INSTALL_PREFIX >/dev/null' EXIT

"$python" -m pip wheel "$source" --quiet --no-deps --no-build-isolation --no-index --wheel-dir "$work" \
  -C build-dir="$binary" -C cmake.define.INGOT_TESTS=ON
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
assert "class PaneGroup" in ingot.explain(op, x, y, device="cpu").html()  # the package contains the files of the page
with open("/proc/self/maps") as maps:
  loaded = {line.split()[-1] for line in maps if "/libingot" in line or "/libfmt" in line}
assert all(path.startswith(sys.argv[1]) for path in loaded), loaded
PROGRAM
readelf -d site/ingot/libingot.so | grep -qF 'path: [$ORIGIN:$ORIGIN/../torch/lib:$ORIGIN/../nvidia/cu13/lib]'
