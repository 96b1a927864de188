"""Where torch is observed: replaced functions, and hooks on modules and optimizers."""
