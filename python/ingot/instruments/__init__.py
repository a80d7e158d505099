"""The instruments: what sets a kernel beside others."""
