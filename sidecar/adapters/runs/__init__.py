"""Runs of agents one after the other: a host of our own."""
