"""What is weak in a rubric that serves, and what would help. Pure."""
