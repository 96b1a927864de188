"""What a run is: its vocabulary, its series, and the file they are kept in."""
