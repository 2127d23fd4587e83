"""Parses a shell line: which commands it runs, and whether its exit code reveals how they ended."""
