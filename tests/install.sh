#!/usr/bin/env bash
# install.sh SOURCE BINARY PYTHON: installs the build and uses it as a user's project does, from a copy of examples/cpp
# outside the source tree.
set -euo pipefail
source=$1 binary=$2 python=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$binary" --prefix "$work/prefix" >"$work/log"
if grep -rn -e "$source" -e site-packages "$work"/prefix/lib*/cmake; then
  echo "install: the package contains paths of the build machine"
  exit 1
fi

cp -r "$source/examples/cpp" "$work/source"
configure=(cmake -G Ninja -S "$work/source" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_BUILD_TYPE=Release)
"${configure[@]}" -B "$work/build" -DINGOT_PYTHON="$python"
cmake --build "$work/build"
find "$work/build" -maxdepth 1 -type f -executable -print0 | sort -z >"$work/programs"
[ -s "$work/programs" ]
xargs -0 -n1 env <"$work/programs"

# Without a PyTorch, configuring must fail and say what to do.
if "${configure[@]}" -B "$work/without" -DINGOT_PYTHON=/bin/false >"$work/log" 2>&1; then
  echo "install: configuring without a PyTorch did not fail"
  exit 1
fi
grep -q "has no PyTorch: install torch" "$work/log"
