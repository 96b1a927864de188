"""What metric names and settings mean, for logs of other tools and for monitor.log alike."""
