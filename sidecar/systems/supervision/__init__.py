"""Supervision: judges an agent's stops against its goal, and sends it back within a budget."""
