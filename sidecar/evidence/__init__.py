"""Evidence: project files, gates (the project's own checks), and how far they support the agent's claims."""
