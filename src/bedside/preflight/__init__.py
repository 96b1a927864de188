"""Preflight: everything that can be found out about a training before its first step, and nothing left changed.

    result = bedside.preflight(model, train_loader, loss_fn, optimizer, val_loader=val_loader)
    print(result)

`preflight.py` runs the catalogue of `checks/`, one file each, over a `Setup`: the user's own model, loaders, loss and
optimizer, with what several checks need computed once. Each check passes, fails with a Finding, or says what it
would have needed.
"""
