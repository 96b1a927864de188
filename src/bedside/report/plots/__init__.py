"""Pictures of a run: `svg` for notebooks, without a script, and `figures` with matplotlib for papers and slides."""
