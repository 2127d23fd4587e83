"""The project's files: seen whole, kept, and compared."""
