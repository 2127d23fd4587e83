"""The rules of the task loop. Pure."""
