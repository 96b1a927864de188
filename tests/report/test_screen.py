"""Colour on a real terminal: a pseudo-terminal is one, a pipe is not."""

import os
import pty
import re
import subprocess
import sys

SHOW = """
from bedside.report.screen import show
show([(("ERROR", "error"), ("  plain [red]words[/red]", ""))])
"""


def shown(**environment):
    ours, theirs = pty.openpty()
    env = {key: value for key, value in os.environ.items() if key not in {"NO_COLOR", "FORCE_COLOR"}}
    env |= {"TERM": "xterm-256color"} | environment
    subprocess.run([sys.executable, "-c", SHOW], stdout=theirs, check=True, env=env)
    text = os.read(ours, 4096).decode()
    os.close(theirs)
    os.close(ours)
    return text


def test_a_terminal_gets_colour_and_the_same_words():
    text = shown()
    assert "\x1b[1;31m" in text
    assert re.sub(r"\x1b\[[\d;]*m", "", text).rstrip() == "ERROR  plain [red]words[/red]"


def test_no_color_is_honoured():
    assert "31m" not in shown(NO_COLOR="1")


def test_a_pipe_gets_words_alone():
    piped = subprocess.run([sys.executable, "-c", SHOW], capture_output=True, text=True, check=True)
    assert piped.stdout == "ERROR  plain [red]words[/red]\n"
