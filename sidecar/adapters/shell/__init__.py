"""Shell lines: what they really run, and whether their exit code tells how it ended."""
