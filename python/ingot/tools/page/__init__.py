"""The HTML page: one file that works offline, with the stages side by side and linked by highlighting."""

from .contents import of_comparison, of_explanation
from .page import Page

__all__ = ["Page", "of_comparison", "of_explanation"]
