"""Use cases: carry out what policy orders, and feed the outcomes back."""
