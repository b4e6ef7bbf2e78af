"""The paper's study, run again."""
