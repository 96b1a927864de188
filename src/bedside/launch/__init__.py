"""`bedside run train.py`: watch an unchanged training script.

The script runs in this process as `python train.py` would run it. Nothing heavy is imported before the script imports
it by itself: environment variables that it sets first must still take effect. When torch arrives, optimizers are
noted as they are made; at the first forward of a model that one of them trains, `bedside.watch` is called for both.

    target.py          what to run: a file, a folder, a module or a line of code
    runner.py          runs it; exceptions, exit codes and tracebacks as without us
    launchers.py       `bedside run torchrun …` and `accelerate launch …`
    after_import.py    calls back when a package has been imported
    attach.py          optimizers and forwards lead to a monitor
    find_model.py      which models the parameters belong to, and what the script calls them
    script_logs.py     what the script itself logs: TensorBoard, W&B, MLflow, Comet, Trainer, Lightning, tqdm
    children.py        processes that the script starts
    script_end.py      the report, also after Ctrl-C, an exception or SIGTERM
"""
