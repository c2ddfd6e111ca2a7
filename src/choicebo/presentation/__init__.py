"""How an option, an answer and a report look, for terminal, browser and experiments alike."""
