import re
import socket
import subprocess
import sys

import pytest

from bedside.cli import run as bedside
from bedside.errors import BadOption
from bedside.live.server import _listen, serve


def test_a_port_that_is_taken_is_passed_over_unless_it_was_asked_for(monkeypatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(BadOption, match=f"Port {port} of 127.0.0.1 cannot be used"):
            _listen("127.0.0.1", port)
        monkeypatch.setattr("bedside.live.server.PORT", port)
        with _listen("127.0.0.1", None) as other:
            assert other.getsockname()[1] != port


def test_a_port_that_does_not_exist_is_refused_in_whole_sentences():
    with pytest.raises(BadOption) as refused:
        _listen("127.0.0.1", 99999)
    assert ".." not in refused.value.what
    assert "1 to 65535" in refused.value.expected


def test_an_empty_token_is_refused(tmp_path):
    with pytest.raises(BadOption, match="The token is empty"):
        serve(tmp_path, token="")


def test_a_folder_that_is_not_there_is_said_in_three_lines(tmp_path, capsys):
    assert bedside(["serve", str(tmp_path / "nowhere"), "--port", "0"]) == 2
    assert "does not exist" in capsys.readouterr().err


def test_other_machines_need_a_token_that_is_made_up_for_them(tmp_path):
    command = [sys.executable, "-c", "from bedside.cli import main; main()", "serve", str(tmp_path), "--port", "0"]
    server = subprocess.Popen([*command, "--host", "0.0.0.0"], stdout=subprocess.PIPE, text=True)
    try:
        assert re.search(r"\?token=\S{16,}", server.stdout.readline())
    finally:
        server.terminate()
        server.communicate(timeout=10)


def test_serving_loads_no_torch():
    done = subprocess.run(
        [sys.executable, "-c", "import bedside.live.app, bedside.live.terminal, sys; sys.exit('torch' in sys.modules)"]
    )
    assert done.returncode == 0
