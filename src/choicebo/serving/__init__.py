"""Who computes the next question, and where."""
