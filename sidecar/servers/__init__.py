"""Doors in: the socket that hosts and the command line speak to, and the life of the process behind it."""
