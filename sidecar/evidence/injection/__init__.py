"""Text that is addressed to a judge, found and left out of what it is shown. Pure."""
