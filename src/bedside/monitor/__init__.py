"""What `bedside.watch` returns: it joins collecting, the record and the live diagnosis."""
