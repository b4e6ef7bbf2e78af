"""The command line: ``counterpoint explain``, ``batch``, ``serve``, ``schema`` and ``show``."""
