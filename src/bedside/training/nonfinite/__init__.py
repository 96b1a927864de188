"""Where the first NaN or Inf of a step comes from: the module, the operation, the line of code, the likely reason.

`values.py` counts what is not finite, `module_check.py` finds the guilty module at about a tenth of a step's cost,
`operators.py` and `backward_nodes.py` the operation inside it, `sources.py` knows the usual reasons, and `hunt.py`
joins them for one micro-batch.
"""
