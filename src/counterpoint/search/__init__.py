"""How it is found: the settings of a search, the two searches and what both of them fill."""
