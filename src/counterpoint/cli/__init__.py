"""The command line: ``counterpoint explain``, ``schema`` and ``show``."""
