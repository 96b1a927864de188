"""Listening to a live training loop.

Where a number is read changes the number, so the loop is drawn once, here, and every collector names its moment::

    for each optimizer step
        for each micro-batch
            forward
            loss               loss.py: the scalar that backward() is called on, before loss scaling
            backward           loss.py: were the old gradients cleared? in which order do gradients arrive?
        unscale                scaling.py: loss scale, skipped steps
        clip                   clipping.py: norm before clipping and threshold, from the clip call itself
        optimizer.step         steps.py, pre-hook: gradients as the optimizer sees them, learning rates
                               steps.py, post-hook: the change that was made, and the weights after it
        scheduler.step         (nothing: the next step reads the learning rate it really uses)
    validation                 monitor.py: whatever the user logs

A **step** is one round of optimizer updates, however many micro-batches it took. With a closure (LBFGS,
Lightning) the backward pass runs inside `optimizer.step`, so gradients are then read in the post-hook.

Numbers stay on the device as tensors until `step_rows.py` brings many steps over in one transfer.
"""
