"""One tool per file, attached as its own introduction attaches it, at its defaults, quoted in its own words."""
