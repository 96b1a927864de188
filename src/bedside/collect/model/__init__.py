"""The watched model: its parameters, who owns them, and which optimizer holds them."""
