"""Models: the ways to ask one about genomes, and the trial a quick way must pass."""
