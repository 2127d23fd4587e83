"""Running gates: in which order, as which commands, with what outcome, and what is remembered."""
