"""Wording: a result said in sentences, for customers and analysts, and shown as small tables."""
