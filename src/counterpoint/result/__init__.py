"""What we found: counterfactuals, measures on them, and how they read."""
