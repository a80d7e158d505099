"""Whether all is tested, which takes long: script/gpu-check does, with INGOT_TESTS=whole. Else every name is tried on float32
and in turn on some of what is left, so that all of it comes up with some names."""

import os

WHOLE = os.environ.get("INGOT_TESTS") == "whole"
