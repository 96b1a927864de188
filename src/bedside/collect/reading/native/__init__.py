"""The same sums compiled by numba, where it is installed."""
