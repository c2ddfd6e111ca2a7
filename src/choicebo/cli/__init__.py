"""The loop in a terminal."""
