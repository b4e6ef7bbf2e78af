"""Choosing a few of many counterfactuals: by an order, by preferences, by conditions."""
