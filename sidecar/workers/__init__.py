"""Workers: headless agents that Supervisor starts with a prompt and an answer schema."""
