"""Judging of a stop: rules first, then a model that did not do the work, whose answer is checked."""
