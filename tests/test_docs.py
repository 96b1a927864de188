"""The guides: their links lead somewhere, their snippets are true, and the site builds."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.glob("*.md"), *DOCS.glob("integrations/*.md"), *DOCS.glob("lab/*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda each: each.name)
def test_every_link_of_a_page_leads_somewhere(page):
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_every_page_is_in_the_navigation():
    def files(entry):
        if isinstance(entry, str):
            return [entry]
        each = entry if isinstance(entry, list) else list(entry.values())
        return [name for part in each for name in files(part)]

    listed = files(yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"])
    assert set(listed) == {page.relative_to(DOCS).as_posix() for page in PAGES}


def test_no_page_speaks_of_documents_that_readers_do_not_have():
    for page in [*PAGES, *sorted((DOCS / "rules").glob("*.md")), ROOT / "README.md"]:
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"(?i)seed (article|lesson|\d\b)|PEERS\.md|FACTS\.md|PERF\.md|DESIGN\.md", text), page.name


def test_the_notebook_page_runs(tmp_path):
    pytest.importorskip("pandas")
    watch = next(re.finditer(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL))[1]
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / "notebook.md").read_text(encoding="utf-8"), re.DOTALL)
    script = "\n".join([watch, "monitor.close()", *blocks])
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run.png").exists()


def test_the_site_builds_without_a_broken_link(tmp_path):
    pytest.importorskip("zensical")
    shutil.copytree(DOCS, tmp_path / "docs")
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    built = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    done = subprocess.run(built, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "site/index.html").exists()
