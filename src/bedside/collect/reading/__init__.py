"""How numbers are read from tensors: with few calls, and one transfer from the device."""
