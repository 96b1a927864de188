"""Small real trainings, with and without a fault, and the ways in which programs print them."""
