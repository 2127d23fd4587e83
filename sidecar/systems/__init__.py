"""The systems of the sidecar. None of them imports another."""
