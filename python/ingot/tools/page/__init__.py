"""The page: one file of HTML without a network, in which stages stand side by side and light each other up."""

from .contents import of_comparison, of_explanation
from .page import Page

__all__ = ["Page", "of_comparison", "of_explanation"]
