"""What an editor shows of a rubric, and edits of it: pure functions of a RubricOutline."""
