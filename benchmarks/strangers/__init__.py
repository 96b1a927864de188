"""Faulty programs and what they share; see benchmarks/strangers.py."""
