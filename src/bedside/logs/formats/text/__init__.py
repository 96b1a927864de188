"""Plain text logs: what programs print, line by line."""
