"""The experiments, one file each, under the name by which `bedside.lab` offers them."""
