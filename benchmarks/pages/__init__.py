"""The parts of benchmarks/pages.py."""
