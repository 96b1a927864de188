"""The built front end is what its sources make, and its licences come with it."""

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

from bedside.report.standalone import static

WEB = Path(__file__).parents[2] / "web"


def test_the_committed_bundle_was_built_from_these_sources():
    digest = hashlib.sha256()
    for path in [*sorted((WEB / "src").iterdir()), WEB / "package-lock.json", WEB / "build.mjs"]:
        digest.update(path.read_bytes())
    assert static("SOURCES.sha256").strip() == digest.hexdigest(), "Try: cd web && npm ci && npm run build"


@pytest.mark.skipif(
    shutil.which("node") is None or not (WEB / "node_modules").is_dir(), reason="needs node and `cd web && npm ci`"
)
def test_building_again_gives_the_same_bytes():
    done = subprocess.run(["node", "build.mjs", "--check"], cwd=WEB, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_licences_of_what_is_bundled_are_whole():
    licences = static("LICENSES.txt")
    for words in ("preact", "uplot", "Permission is hereby granted", "Leon Sorokin", "Jason Miller"):
        assert words in licences
