"""The report: one HTML file of one result, for people, that needs nothing but a browser."""
