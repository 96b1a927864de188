"""`python -m bedside`, and with it `torchrun -m bedside run train.py`."""

from bedside.cli import main

if __name__ == "__main__":
    main()
