"""The project's files: a digest of their current state, and the changes since an earlier snapshot."""
