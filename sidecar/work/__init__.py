"""What the systems share in which agents work: the place of an attempt, and what is found there."""
