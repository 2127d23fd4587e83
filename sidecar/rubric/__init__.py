"""The project's own definition of done: reading it, holding an agent's edits of it, advice and editing."""
