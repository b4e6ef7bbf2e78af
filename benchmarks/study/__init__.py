"""The paper's study run again: data, models, runs, tables and figures, each from stored results."""
