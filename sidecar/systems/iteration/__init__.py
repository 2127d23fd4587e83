"""The journal of a session, and the loop of fresh agents (`supervisor run`)."""
