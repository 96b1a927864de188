"""Reading numbers from a live training loop.

Where a number is read changes the number, so the loop is drawn once, here, and every collector names its moment::

    for each optimizer step
        for each micro-batch
            forward            hooks/called_modules.py, forward_hooks.py: every forward is seen, sampled ones are read
                               (hooks/module_outputs.py, function_calls.py) by the collectors in vitals/
            loss               hooks/torch_patches.py: prediction and target of torch's loss functions
            backward           step/loss.py: the scalar that backward() is called on, before loss scaling; were the old
                               gradients zeroed? model/gradient_order.py: in which order do gradients arrive?
                               step/training_thread.py: is it ours at all?
        unscale                step/scaler_step.py: loss scale, skipped steps
        clip                   step/clipping.py: norm before clipping and threshold, from the clip call itself
        optimizer.step         hooks/optimizer_hooks.py; step/optimizer_step.py before it: gradients as the optimizer
                               sees them, learning rates; after it: the change that was made, and the weights
        scheduler.step         vitals/schedulers.py (the next step reads the learning rate it really uses)
    validation                 whatever the user logs, and the forwards that belong to it

A **step** is one round of optimizer updates, however many micro-batches it took. With a closure (LBFGS, Lightning) the
backward pass runs inside `optimizer.step`, so gradients are then read after it.

Steps at which nothing is due take the fast path (step/fast_path.py; step/fast_path_control.py decides), at which no
collector is called. The dispatcher (monitor/dispatcher.py) owns the hooks: it asks the fast path whether it takes the
step, and otherwise does the full reading. sampling/ decides what is due: intervals by the step number, chosen to stay
within a budget.

Numbers stay on the device as tensors (reading/device_queue.py) until step/step_rows.py writes many steps at once, after
one transfer.
"""
