"""Entry points: the socket for hosts and the command line, and the life of the process behind it."""
