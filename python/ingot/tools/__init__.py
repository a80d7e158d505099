"""The tools (compare, explain, verify), imported when they are first used."""

from .comparison import Comparison, compare
from .explanation import Explanation, explain
from .job import Against

__all__ = ["Against", "Comparison", "Explanation", "compare", "explain"]
