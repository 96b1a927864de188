"""Where torch is listened to: replaced functions, and hooks on modules and optimizers."""
