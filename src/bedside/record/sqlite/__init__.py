"""A run on disk: one SQLite file per rank, written as training goes and read back without changing it."""
