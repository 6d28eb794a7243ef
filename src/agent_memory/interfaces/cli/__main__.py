"""`python -m agent_memory.interfaces.cli`."""

import sys

from agent_memory.interfaces.cli import main

sys.exit(main())
