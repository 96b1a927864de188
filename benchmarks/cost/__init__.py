"""What watching costs: small trainings, watched in many ways, against the same training left alone.

`workloads.py` is plain torch. A way of watching is a `Watcher` (`watchers.py`; `others.py` has the formulas that other
tools use, `tools.py` the tools themselves). `worker.py` trains in a process of its own, so many steps at a time as it
is notified; `blocks.py` lets several of them take turns and compares their processor time. The command is
`benchmarks/overhead.py`.
"""
