"""One optimizer step: its loss, clipping and update, as data and as rows of the record."""
