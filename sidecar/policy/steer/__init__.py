"""Text that is addressed to a judge: what it looks like under its disguises, and in which words it comes."""
