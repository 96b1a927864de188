"""`bedside replay INCIDENT`: run a kept step again, in the loop of the script it came from."""

from __future__ import annotations

import click


@click.command(short_help="Run a step that went wrong again, and say what made it fail.")
@click.option("--script", metavar="FILE", help="The training script; its own loop runs the step.")
@click.option("--anyway", is_flag=True, help="Replay even if versions, device or precision have changed since.")
@click.option("--format", "kind", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.argument("incident", metavar="INCIDENT")
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def replay(script: str | None, anyway: bool, kind: str, incident: str, args: tuple[str, ...]) -> int:
    """Run the kept step again, bit for bit, and name the operation, its line of code and the samples.

    INCIDENT is the folder that black_box=True wrote, or the run, whose first incident is meant. The script gets what
    follows `--`. Without a script the incident is only described. Exits with 0 if the step does not fail again, with 1
    if it does, and with 2 if it could not be run.
    """
    from bedside.errors import BedsideError, install_extra

    try:
        from bedside.incident.incident import load
    except ModuleNotFoundError as missing:
        raise BedsideError(
            f"Replaying a step needs {missing.name}, which is not installed.",
            expected="torch and safetensors",
            try_=install_extra("torch,incident"),
        ) from None

    kept = load(incident)
    if script is None:
        click.echo(str(kept))
        return 0
    from bedside.launch.replay_script import replay_script
    from bedside.launch.target import Target

    again = replay_script(kept, Target(script, args), anyway=anyway)
    if kind == "json":
        import json

        click.echo(json.dumps(again.to_json(), indent=2))
    else:
        click.echo(str(again))
    return int(again.reproduced)
