"""The rules of governed phases: pure functions and tables."""
