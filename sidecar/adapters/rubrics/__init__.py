"""What the rubric's adapter is made of: conventions, places, whose edit it was, what is kept."""
