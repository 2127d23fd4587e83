"""Governed phases: a change is analyzed, planned, made, reviewed and tested under a lock, and audited."""
