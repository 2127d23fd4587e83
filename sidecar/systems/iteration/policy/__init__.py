"""The rules of the journal and of a run, as pure functions."""
