"""What the agent says it did, and what shows whether it is so."""
