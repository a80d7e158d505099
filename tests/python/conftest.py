import os
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The tests use their own kernel cache, not the user's.
os.environ.setdefault("INGOT_CACHE_DIR", str(ROOT / "build" / "test-cache"))

import torch  # noqa: E402

import ingot  # noqa: E402


@pytest.fixture(autouse=True)
def seeded():
    """The random numbers of a test do not depend on the tests that ran before."""
    torch.manual_seed(0)


@pytest.fixture(params=["cpu", "cuda"])
def device(request):
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    return request.param


@pytest.fixture
def command_line():
    """The program `ingot` that was built together with the package."""
    program = pathlib.Path(ingot._ingot.__file__).parents[2] / "bin" / "ingot"
    if not program.exists():
        pytest.skip(f"the command line is not built: {program}")
    return str(program)
