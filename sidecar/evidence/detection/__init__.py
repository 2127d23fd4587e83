"""Detects which checks a project offers from the files that it contains."""
