"""Times the first call of an example in this process. Prints JSON.

    python benchmarks/first_call.py cpu|cuda NAME

The clock runs from `ingot.op` until the launch returns. The CUDA context was created and a kernel of PyTorch has run before.
"""

import json
import sys
import time

import torch

import ingot
from cases.case import Tensors
from cases.elementwise import FOUR_EXAMPLES

device, name = sys.argv[1:]
case = next(case for case in FOUR_EXAMPLES if case.name == name)
arguments = case.make(Tensors(device, 1 << 20))
(torch.ones(1, device=device) + 1).relu_()
if device == "cuda":
    torch.cuda.synchronize()
begin = time.perf_counter()
ingot.op(case.text)(*arguments)
seconds = time.perf_counter() - begin
counters = ingot.counters()
print(json.dumps({"seconds": seconds, "compiles": counters.compiles, "lowerings": counters.lowerings}))
