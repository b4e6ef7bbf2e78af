"""What holds for all tests."""

from __future__ import annotations

from hypothesis import settings

# A machine under load is slow, not wrong: time is measured by benchmarks.
settings.register_profile("counterpoint", deadline=None)
settings.load_profile("counterpoint")
