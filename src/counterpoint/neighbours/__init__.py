"""Which observed rows are near: Gower's distance and the nearest-neighbour index."""
