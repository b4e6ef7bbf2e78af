"""What a row is: features, genomes, distances and conditional distributions."""
