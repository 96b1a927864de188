"""What rules and hypotheses share: losses, chance levels, schedules, windows and robust statistics."""
