"""Hands out into the world: each file carries out one port of `sidecar.ports`, and none knows `servers`."""
