"""The benchmark cases, one file per theme. Each file has a list CASES; a case is a row of a table."""

from . import activations, chains, cpu, elementwise, gradients, graphs, kernelbench, layouts, reductions, sizes

ON_THE_GPU = [*elementwise.CASES, *layouts.CASES, *activations.CASES, *chains.CASES, *kernelbench.CASES]
SMALL = sizes.CASES
GRADIENTS, VALUE_AND_GRAD = gradients.CASES, gradients.VALUE_AND_GRAD
GRAPHS = graphs.CASES
REDUCTIONS, FEW_TO_REDUCE = reductions.CASES, reductions.FEW
ON_THE_CPU = [*cpu.CASES, *(case for case in ON_THE_GPU if case.on_cpu)]
REDUCTIONS_ON_THE_CPU = [case for case in (*REDUCTIONS, *FEW_TO_REDUCE) if case.on_cpu]
