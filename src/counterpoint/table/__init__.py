"""What a row is: features, schema, genomes, and the kinds of table they come in."""
