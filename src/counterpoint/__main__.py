"""``python -m counterpoint`` is the command line."""

from __future__ import annotations

import sys

from counterpoint.cli.main import main

sys.exit(main())
