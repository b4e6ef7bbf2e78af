"""Explaining more rows than one call is good for: batch jobs, and frames of other engines."""
