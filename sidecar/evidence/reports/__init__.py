"""Asks a project's own tools for machine-readable reports, and reads those reports."""
