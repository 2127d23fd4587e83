"""The model backends: one judge per backend, the choice between them, and the prompt."""
