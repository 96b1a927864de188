"""bedside beside its peers: eight small trainings, seven of them broken in one line, and what each tool says of them.

`scenarios.py` is plain torch and knows no tool. A tool comes in through a `Listener` (`listener.py`), one file each in
`adapters/`, in an environment of its own (`environments.py`). `worker.py` runs there and writes down the tool's own
words; `scoring.py` decides by a table of phrases whether they name the fault; `comparison.py` makes the page. The
command is `benchmarks/peers.py`.
"""
