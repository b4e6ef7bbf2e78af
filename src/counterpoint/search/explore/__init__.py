"""The default search: an evolutionary search whose population is the archive."""
