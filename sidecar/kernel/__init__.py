"""Types that all packages share: session, goal, turn, event, evidence, gate, verdict. No I/O, no clock."""
