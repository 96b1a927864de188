"""One training step seen from outside: what a batch is, how its loss is computed, and how all of its state is kept.

Experiments and checks before the run take the user's model, loader, loss and optimizer, use them, and put everything
back. What they share is here: `batches.py` (whatever a loader yields), `forward.py` (from a batch to its loss),
`loader.py` (batches without moving the loader), `preserve.py` (save everything, put it back bitwise), `model_copy.py`
(ask a copy of the model, and leave the model alone).
"""
