"""`python -m ingot compare …`: the commands that need Python; `ingot`, the program, hands them on."""

import sys

from .tools.command import main

sys.exit(main())
