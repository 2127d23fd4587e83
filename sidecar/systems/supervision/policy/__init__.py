"""The rules of supervision, as pure functions: (state, event) to (state, what to do next)."""
