"""The instruments: what sets a kernel beside others. Imported when they are first used."""

from .comparison import Comparison, compare
from .explanation import Explanation, explain
from .job import Against

__all__ = ["Against", "Comparison", "Explanation", "compare", "explain"]
