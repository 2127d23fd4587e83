"""The rules of skills and of the three phases of test-driven development. Pure."""
