"""`bedside run SCRIPT …`: watch a training script that nobody changed."""

from __future__ import annotations

from collections.abc import Callable

import click


@click.command(
    short_help="Watch a training script without changing it.",
    context_settings={"allow_interspersed_args": False},  # what follows the script belongs to the script
)
@click.option("-m", "module", is_flag=True, help="SCRIPT is a module, as with python -m.")
@click.option("-c", "code", is_flag=True, help="SCRIPT is a line of code, as with python -c.")
@click.option(
    "--run-dir", metavar="DIR", help="A new or empty folder for the record; one under bedside-runs by default."
)
@click.option("--black-box", is_flag=True, help="Keep the step that goes wrong, for bedside replay.")
@click.option(
    "--on-nan",
    type=click.Choice(["report", "skip", "stop", "raise"]),
    default="report",
    help="What to do before a step whose gradients are not finite.",
)
@click.option("--quiet", is_flag=True, help="Print nothing: neither alarms nor the report. The record is kept.")
@click.argument("script")
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def run(
    module: bool,
    code: bool,
    run_dir: str | None,
    black_box: bool,
    on_nan: str,
    quiet: bool,
    script: str,
    args: tuple[str, ...],
) -> Callable[[], None]:
    """Run a training script as python would, and say at the end what is wrong with the training.

    SCRIPT is a file, a folder with a __main__.py, or torchrun … / accelerate launch … with a script of their own.
    bedside attaches to every optimizer the script steps and listens to what the script logs. The script's output,
    results and exit code are unchanged; alarms and the report go to stderr.
    """
    from bedside.errors import BadOption
    from bedside.launch.options import Options, folder_for
    from bedside.launch.target import Target

    if module and code:
        raise BadOption("Both -m and -c were given.", expected="one of them", try_=f"bedside run -m {script}")
    if not (module or code):
        from bedside.launch.launchers import launcher_command

        ours = [*(["--run-dir", run_dir] if run_dir else []), *(["--quiet"] if quiet else [])]
        ours += [*(["--black-box"] if black_box else []), *(["--on-nan", on_nan] if on_nan != "report" else [])]
        command = launcher_command([script, *args], ours)
        if command is not None:
            return _execute(command)
    asked = {**({"black_box": True} if black_box else {}), **({"on_nan": on_nan} if on_nan != "report" else {})}
    options = Options(folder_for(run_dir), quiet, asked)
    target = Target(script, args, "module" if module else "code" if code else "path")

    def launch() -> None:
        from bedside.launch.runner import run_script

        run_script(target, options)

    return launch


def _execute(command: list[str]) -> Callable[[], None]:
    def become() -> None:
        import os

        os.execv(command[0], command)

    return become
