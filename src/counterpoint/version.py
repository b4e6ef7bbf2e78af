"""The version of the package, in a module of its own: none needs to import the package for it."""

__version__ = "0.2.0"
