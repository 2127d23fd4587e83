"""Entry points: the socket for hosts and the command line, and the life of the process behind it."""

SOCKET_BACKLOG = 1024
"""Connections to the sidecar's socket that the kernel queues before they are accepted."""
