"""Proof by execution: whether the checks still are the checks they were is found by running them."""
