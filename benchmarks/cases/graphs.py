"""Programs that launch many kernels: a sampler's loop in a CUDA graph, and a training step."""

import sys
from typing import Callable

import torch
import torch.nn.functional as F

import ingot
from ingot.tools.candidates import CudaKernel

from .case import Handwritten, ProgramCase, Tensors
from .elementwise import EXAMPLES, example

Call = Callable[[], object]

# --- A sampler ------------------------------------------------------------------------------------------------------

STEPS = 50


def sampler(images: int) -> ProgramCase:
    """Denoises images in 50 steps. The step's number is a tensor that is counted down on the device. Random tensors, made
    in advance, replace a network's predictions."""

    def makers(make: Tensors) -> dict[str, Callable[[], Call]]:
        shape = (images, 3, *make.either((256, 256), (4, 4)))
        start, predicted, noise = make.normal(*shape), make.normal(STEPS, *shape), make.normal(STEPS, *shape)
        table, t = make.uniform(5, STEPS), make.integers(images, 1, 1, 1, below=STEPS)

        def run_sampler(step) -> torch.Tensor:
            t.fill_(STEPS - 1)
            sample = start
            for k in range(STEPS):
                sample = step(predicted[k], sample, noise[k], table, t)
                t.sub_(1)
            return sample

        def handwritten() -> Call:
            kernel, results = CudaKernel(Handwritten("denoise").path), [torch.empty_like(start) for _ in range(2)]
            samples = [start, *(results[k % 2] for k in range(STEPS))]
            calls = [kernel.bind({"eps": predicted[k], "sample": samples[k], "noise": noise[k], "table": table, "t": t},
                                 [samples[k + 1]]) for k in range(STEPS)]

            def loop() -> torch.Tensor:
                t.fill_(STEPS - 1)
                for call in calls:
                    call()
                    t.sub_(1)
                return samples[-1]

            return capture_graph(loop)

        op = ingot.op(example("denoise"))
        return {"ingot": lambda: capture_graph(lambda: run_sampler(op)),
                "eager": lambda: capture_graph(lambda: run_sampler(op.reference)), "handwritten": handwritten}

    return ProgramCase(f"sampler in a graph: {images} images", makers)


def capture_graph(function: Call) -> Call:
    """A function that replays a CUDA graph of `function`, which is called once before so that all is compiled. Without
    a GPU, `function` itself."""
    result = function()
    if not result.is_cuda:
        return function
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = function()

    def replay() -> torch.Tensor:
        graph.replay()
        return result

    replay.function = function  # keeps alive the tensors that the graph reads and writes
    return replay


# --- Training -------------------------------------------------------------------------------------------------------

TIMESTEPS = 50


def eager_group_norm_mish(x, weight, bias):
    return F.mish(F.group_norm(x, 8, weight, bias))


def eager_denoise(eps, sample, noise, table, t):
    x0 = torch.clamp((sample - table[0, t] * eps) * table[1, t], -1, 1)
    return table[2, t] * x0 + table[3, t] * sample + table[4, t] * noise


def training(batch: int) -> ProgramCase:
    """A step of the model of examples/train.py: forward, backward and AdamW, without a CUDA graph."""

    def makers(make: Tensors) -> dict[str, Callable[[], Call]]:
        if str(EXAMPLES) not in sys.path:
            sys.path.append(str(EXAMPLES))
        from train import Denoiser

        eps, clean, noise = (make.normal(batch, 4, 64) for _ in range(3))
        table, t = make.uniform(5, TIMESTEPS), make.integers(batch, 1, 1, below=TIMESTEPS)
        sample = clean + eps
        expected = eager_denoise(eps, sample, noise, table, t)

        def make_step(ops: tuple = (), wrap=lambda model: model) -> Call:
            torch.manual_seed(0)
            model = Denoiser(*ops).to(make.device)
            optimiser, predict = torch.optim.AdamW(model.parameters(), lr=3e-3), wrap(model)

            def step() -> torch.Tensor:
                optimiser.zero_grad()
                loss = F.mse_loss(predict(sample, noise, table, t), expected)
                loss.backward()
                optimiser.step()
                return loss.detach()

            return step

        eager = eager_group_norm_mish, eager_denoise
        return {"ingot": make_step, "eager": lambda: make_step(eager),
                "compile": lambda: make_step(eager, lambda model: torch.compile(model, fullgraph=True))}

    return ProgramCase(f"training step: {batch} samples", makers)


CASES = [sampler(1), sampler(16), training(32), training(8192)]
