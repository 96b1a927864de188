"""The kept step run again: what came out, how it compares with the original, and which samples it was."""
