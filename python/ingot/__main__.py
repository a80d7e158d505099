"""Runs the commands that need Python (`python -m ingot compare …`). The program `ingot` forwards them to this module."""

import sys

from .tools.command import main

sys.exit(main())
