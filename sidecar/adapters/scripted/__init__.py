"""Stand-ins that ship with the package: they move only when told to, for the demo and for tests."""
