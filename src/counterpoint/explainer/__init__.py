"""The door for one process: an Explainer, and how it shares out many rows."""
