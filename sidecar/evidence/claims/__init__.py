"""What the agent claims it did, and the evidence for or against each claim. Pure functions, no I/O."""
