import asyncio
import json
import time

import pytest
from starlette.testclient import TestClient
from tests.live.records import GrowingRecord

from bedside.live.app import make_app
from bedside.live.feed import Feed
from bedside.live.security import host_name
from bedside.live.served_folder import Folder


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    made = GrowingRecord(tmp_path_factory.mktemp("served") / "runs" / "a")
    made.grow(60)
    yield made
    made.close()


@pytest.fixture(scope="module")
def client(record):
    with TestClient(make_app(Folder(record.folder.parent)), base_url="http://127.0.0.1:8642") as made:
        yield made


def waited(ask, seconds=20):
    """The first answer that is not empty."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if answer := ask():
            return answer
        time.sleep(0.1)
    pytest.fail("nothing came")


def test_the_list_answers_at_once_and_has_the_verdict_soon(client):
    first = client.get("/api/runs").json()
    assert [name for name, _, _ in first["seen"]] == ["a"]
    answer = waited(lambda: (got := client.get("/api/runs?version=0").json())["rows"] and got)
    assert answer["rows"][0]["verdict"] in ("healthy", "unclear")
    assert answer["rows"][0]["spark"]["steps"][-1] == 59
    assert client.get(f"/api/runs?version={answer['version']}").json()["rows"] == []


def test_a_panel_comes_with_its_words_and_curves(client):
    panel = client.get("/api/panel", params={"run": "a", "id": "loss"}).json()
    assert panel["panel"]["say"].startswith("training ")
    assert len(panel["curves"]["series"]["loss"]["mean"]) == 60


def test_a_stream_resumes_at_its_cursor(record):
    async def first_event(cursor):
        feed = Feed(Folder(record.folder.parent).run("a"), lambda: None)
        stream = feed.watch(["loss"], cursor)
        event = await anext(stream)
        await stream.aclose()
        return event

    kind, identity, data = asyncio.run(first_event(49)).strip().split("\n")
    assert (kind, identity) == ("event: points", "id: 59")
    assert json.loads(data.removeprefix("data: "))["steps"] == [list(range(50, 60))]
    assert asyncio.run(first_event(59)).startswith("event: hello")


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8642", "127.0.0.1.evil.example", ""])
def test_a_foreign_name_is_refused(client, host):
    assert client.get("/api/runs", headers={"host": host}).status_code == 403


def test_names_of_this_machine_are_answered(client):
    for host in ("localhost:8642", "127.0.0.1", "[::1]:8642"):
        assert client.get("/", headers={"host": host}).status_code == 200
    assert host_name("[::1]:80") == "::1"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_nothing_can_be_changed(client, method):
    assert client.request(method, "/api/runs").status_code == 405


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "..%2fsecret", "a/../../secret", ".", "rank0.sqlite"])
def test_no_path_outside_the_folder_can_be_asked_for(client, record, name):
    if not (secret := record.folder.parents[1] / "secret").exists():
        GrowingRecord(secret).close()
    assert client.get("/api/run", params={"run": name}).status_code == 404


def test_every_answer_carries_the_policy(client):
    for path in ("/", "/api/runs", "/no/such/page"):
        policy = client.get(path).headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy


def test_the_page_itself_has_no_script_or_style_inside(client):
    page = client.get("/").text
    assert page.count("<script") == 1
    assert '<script src="app.js"></script>' in page
    assert "<style" not in page


def test_a_token_is_asked_for_and_then_remembered(record):
    with TestClient(make_app(Folder(record.folder.parent), token="secret"), base_url="http://127.0.0.1:8642") as client:
        assert client.get("/api/runs").status_code == 401
        assert client.get("/api/runs?token=wrong").status_code == 401
        answer = client.get("/?token=secret")
        assert answer.status_code == 200
        assert "HttpOnly" in answer.headers["set-cookie"]
        assert client.get("/api/runs").status_code == 200


def test_serving_leaves_the_record_as_it_is(client, record):
    record.store.commit()
    before = {path.name: path.read_bytes() for path in record.folder.iterdir() if path.suffix == ".sqlite"}
    for path in ("/api/runs", "/api/run?run=a", "/api/panel?run=a&id=loss", "/api/series?run=a&key=lr"):
        assert client.get(path).status_code == 200
    assert {path.name: path.read_bytes() for path in record.folder.iterdir() if path.suffix == ".sqlite"} == before


def test_rules_have_their_pages(client):
    rules = client.get("/api/rules").json()["rules"]
    assert {"code": "GRD101", "name": "vanishing-gradient"}.items() <= next(
        r for r in rules if r["code"] == "GRD101"
    ).items()
    assert "## How it decides" in client.get("/api/rules/GRD101").json()["text"]
    assert client.get("/api/rules/XYZ999").status_code == 404


def test_the_gallery_is_shipped_with_its_runs(client):
    gallery = client.get("/api/gallery").json()
    shown = {name for section in gallery["sections"] for name in section["cards"]}
    assert {"textbook", "hundred-examples", "ten-sigmoid-layers", "oscillating-loss", "underfitting"} <= shown
    assert shown <= set(gallery["cards"])
    assert [each["title"] for each in gallery["regimes"]] == ["healthy", "vanishing", "exploding", "dead layer"]
    for regime in gallery["regimes"]:
        assert regime["severity"] in gallery["cards"][regime["card"]]["runs"]


def test_two_runs_are_compared(client, record):
    other = GrowingRecord(record.folder.with_name("b"))
    other.grow(30)
    other.grow(60, loss=9.0)
    other.close()
    time.sleep(3.1)  # a new run is found after the next scan
    answer = client.get("/api/compare", params={"run": ["a", "b"]}).json()
    assert answer["comparisons"][0]["b"] == "b"
    assert client.get("/api/compare", params={"run": ["a"]}).status_code == 422


def test_a_record_that_cannot_be_read_is_a_row_that_says_so(client, record):
    broken = record.folder.with_name("broken")
    broken.mkdir()
    (broken / "rank0.sqlite").write_bytes(b"SQLite format 3\x00" + b"\xff" * 4000)
    time.sleep(3.1)

    def rows():
        found = {row["name"]: row for row in client.get("/api/runs?version=0").json()["rows"]}
        return found if "broken" in found else None

    assert waited(rows)["broken"]["verdict"] == "unreadable"
    assert client.get("/api/run?run=broken").status_code == 422
