"""Past one machine: one pure function from rows to counterfactuals, wherever it runs."""
