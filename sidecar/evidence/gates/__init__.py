"""Gates, the project's own checks: which apply, how they run, and what their outcome is."""
