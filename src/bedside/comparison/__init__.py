"""Two runs compared: where their curves diverge, and what was set differently."""
