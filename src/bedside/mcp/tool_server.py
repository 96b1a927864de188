"""The server: tools over stdin and stdout, and every refusal in three lines that an agent can act on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import ValidationError

from bedside import __version__
from bedside.errors import BadOption, BedsideError, unexpected_failure, unknown_name
from bedside.mcp.bounds import Bounds
from bedside.mcp.tools import Tools

INSTRUCTIONS = """\
bedside diagnoses neural-network training from its record or its logs. Call `runs` to see what there is, `diagnose` for
the verdict and the advice, `explain` for how a rule decides and when it is wrong, `compare` for two runs, and `series`
for the numbers. `unclear` is no `healthy`: read `reason` and `settled_by`. Nothing is ever written."""
READ_ONLY = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)


class Server(MCPServer[Any]):
    """An MCPServer that refuses misspelt arguments, too, and answers a bad call as the command line does."""

    def __init__(self, bounds: Bounds) -> None:
        super().__init__("bedside", instructions=INSTRUCTIONS, version=__version__, log_level="WARNING")
        for function in Tools(bounds).every():
            self.add_tool(function, annotations=READ_ONLY, structured_output=function.__name__ != "explain")

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult:
        schemas = {each.name: each.input_schema for each in await self.list_tools()}
        try:
            _check_names(name, arguments, schemas)
            return await super().call_tool(name, arguments, context)  # type: ignore[return-value]  # asks nothing back
        except BedsideError as bad_name:
            error: BaseException | None = bad_name
        except UnexpectedToolError as failed:
            error = failed.__cause__
        except ToolError as bad_value:
            error = _in_three_lines(name, bad_value)
        refusal = error if isinstance(error, BedsideError) else unexpected_failure(error)
        text = str(refusal.with_call(_example(name, schemas)))
        return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)


def _check_names(name: str, arguments: Iterable[str], schemas: Mapping[str, Any]) -> None:
    """Unknown arguments would be ignored, and the answer be another one than was asked for."""
    if name not in schemas:
        raise unknown_name("tool", name, schemas)
    known = schemas[name].get("properties", {})
    for each in arguments:
        if each not in known:
            raise unknown_name(f"argument of `{name}`", each, known)


def _example(name: str, schemas: Mapping[str, Any]) -> str:
    """The shortest call of a tool: `compare(a=…, b=…)`."""
    if name not in schemas:
        return "runs()"
    needed = ", ".join(f"{each}=…" for each in schemas[name].get("required", ()))
    return f"{name}({needed})"


def _in_three_lines(name: str, refused: ToolError) -> BedsideError:
    """The complaint about an argument that is missing or of another kind."""
    wrong = refused.__cause__
    if not isinstance(wrong, ValidationError):
        return unexpected_failure(refused)
    first = wrong.errors()[0]
    argument = ".".join(map(str, first["loc"]))
    if first["type"] == "missing":
        return BadOption(f"`{name}` needs `{argument}`.", expected=f"the argument `{argument}`")
    return BadOption(f"`{name}` cannot use {argument}={first['input']!r}.", expected=first["msg"])


def serve(folder: str | PathLike[str]) -> None:
    """Answer over stdin and stdout until the agent closes them."""
    Server(Bounds(folder)).run("stdio")
