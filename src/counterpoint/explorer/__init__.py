"""The explorer: a local server where people ask one model what would have had to be different."""
