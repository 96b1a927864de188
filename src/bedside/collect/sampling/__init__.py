"""How often each vital is read, and when rows are written."""
