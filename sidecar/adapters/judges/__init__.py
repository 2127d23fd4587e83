"""Backends of the model judge, and what all of them share: the prompt, the schema, the answer."""
