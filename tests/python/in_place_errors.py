"""Patterns of the errors of calls that Ingot always rejects, although eager accepts some of them: the result would depend
on the order of a loop or on strides, or the write would reach more than the named tensor."""

OVERLAP = "some elements of the input tensor and the written-to tensor refer to a single memory location"
EXPANDED = "more than one (element )?of (the written-to tensor|its elements) refers to a single memory location"
STRIDE_DEPENDENT = "may share memory with this one|may be in the memory of"
SHARED = "is written in place, and .* is in the same memory|overlap"
