"""What the user's and the project's files say, which gates that makes, and which of them are approved."""
