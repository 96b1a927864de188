"""The guard: which updates are not applied, how several ranks agree on that, and how the weights are restored."""
