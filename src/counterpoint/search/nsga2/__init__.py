"""The paper's search: NSGA-II as changed by Dandl et al. (2020)."""
