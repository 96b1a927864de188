"""Two numbers about float32 that both the compiled kernels and the code around them need."""

SAFE_RANGE = (1e-30, 1e37)  # sums in between lost nothing: float32 squares vanish below 1e-38 and overflow above 3e38
WIDTH = 4  # bytes of one
