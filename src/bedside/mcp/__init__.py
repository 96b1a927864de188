"""`bedside mcp`: the same answers for agents, over the Model Context Protocol; it reads and never writes.

`tools.py` has what can be asked, `bounds.py` keeps it inside one folder, `server.py` speaks the protocol.
"""
