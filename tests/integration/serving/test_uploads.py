"""Uploads over HTTP: a real server, real files, a real PDF, and the index that comes of them."""

import http.client
import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from urllib.parse import quote, urlsplit

import httpx
import psutil
import pytest

from pipelines.settings import Settings
from pipelines.storage.database import Database
from pipelines.sync import sync
from tests.convergence import assert_same_as_clean_build
from tests.databases import migrated_database
from tests.integration.serving.conftest import (
    REPOSITORY,
    VAULTLINE,
    Library,
    free_port,
    running_server,
    wait_until,
)
from tests.integration.sync.conftest import dagster_template, new_database, new_home
from tests.unit.parsing.pdf_samples import make_pdf, text

__all__ = ["dagster_template", "new_database", "new_home"]

Events = list[tuple[str, dict[str, object]]]
LIMIT = 200_000


@pytest.fixture(scope="module")
def shelf(template_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """An indexed vault of one note, with a folder for uploads beside it."""
    folder = tmp_path_factory.mktemp("shelf")
    root = folder / "vault"
    root.mkdir()
    (root / "deploy.md").write_text("# Deploy\n\nThe deploy needs two approvals.\n")
    with migrated_database(template_url) as url:
        settings = Settings.load(
            _env_file=None,
            vault_path=root,
            vaultline_home=folder / "home",
            uploads_path=folder / "uploads",
            upload_max_bytes=LIMIT,
            uploads_max_bytes=10 * LIMIT,
            database_url=url,
            embedding_model="fake/asymmetric-64",
            embedding_fake_log=folder / "calls.jsonl",
            assistant_heartbeat_seconds=0.5,
        )
        sync(settings)
        yield Library(settings, root)


def environment(shelf: Library) -> dict[str, str]:
    return {**shelf.environment, **shelf.settings.environment()}


@pytest.fixture(scope="module")
def address(shelf: Library, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_server(environment(shelf), tmp_path_factory.mktemp("server") / "log") as url:
        yield url


@pytest.fixture
def client(address: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=address, timeout=60) as client:
        yield client


def folder(shelf: Library) -> Path:
    assert shelf.settings.uploads_path is not None
    return shelf.settings.uploads_path


def send(client: httpx.Client, name: str, content: bytes | str) -> httpx.Response:
    return client.post("/api/uploads", files={"file": (name, content)})


def watch(client: httpx.Client, upload_id: str) -> tuple[Events, int]:
    """(all events, number of heartbeats) until the stream ends."""
    events: Events = []
    beats = 0
    with client.stream("GET", f"/api/uploads/{upload_id}/events") as response:
        assert response.status_code == 200, response.read()
        assert response.headers["content-type"].startswith("text/event-stream")
        name = ""
        for line in response.iter_lines():
            beats += line == ": keep-alive"
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: "):
                events.append((name, json.loads(line.removeprefix("data: "))))
    return events, beats


def upload(client: httpx.Client, name: str, content: bytes | str) -> dict[str, object]:
    """Upload and wait; the data of the event `end`."""
    answer = send(client, name, content)
    assert answer.status_code == 202, answer.text
    return watch(client, answer.json()["upload_id"])[0][-1][1]


def found(client: httpx.Client, question: str) -> set[str]:
    answer = client.get("/api/search", params={"q": question, "mode": "text"}).json()
    return {result["source"] for result in answer["results"]}


def listed(client: httpx.Client) -> dict[str, dict[str, object]]:
    return {item["name"]: item for item in client.get("/api/uploads").json()["uploads"]}


def test_a_pdf_is_parsed_chunked_embedded_and_stored_in_this_order(client: httpx.Client, shelf: Library) -> None:
    content = make_pdf(text("The zeppelin hangar closes at seven."), text("Its second page names quokkas."))
    accepted = send(client, "Manual de zepelines.pdf", content)
    assert accepted.status_code == 202
    source = accepted.json()["source"]
    assert source == ".uploads/Manual de zepelines.pdf"
    events, beats = watch(client, accepted.json()["upload_id"])
    stages = [data["stage"] for name, data in events if name == "progress"]
    assert list(dict.fromkeys(stages)) == ["parse", "chunk", "embed", "store"]
    assert stages == sorted(stages, key=["parse", "chunk", "embed", "store"].index)
    last = {data["stage"]: data for name, data in events if name == "progress"}
    assert all(data["done"] == data["total"] for data in last.values()), last
    assert last["parse"]["total"] == last["store"]["total"] == 1
    assert events[-1] == ("end", {"state": "indexed", "reason": None, "source": source})
    assert beats >= 1, "a process starts slower than the heart beats here"

    answer = client.get("/api/search", params={"q": "quokkas", "mode": "text"}).json()
    assert [result["source"] for result in answer["results"]] == [source]
    assert answer["results"][0]["pages"] == [1, 2]
    assert client.get(f"/api/documents/{quote(source)}").json()["media_type"] == "pdf"
    entry = listed(client)["Manual de zepelines.pdf"]
    assert (entry["state"], entry["reason"], entry["bytes"]) == ("indexed", None, len(content))
    assert entry["upload_id"] == accepted.json()["upload_id"]
    assert not [path for path in shelf.root.rglob("*") if path.name != "deploy.md"], "the vault is only read"


def test_the_same_name_again_replaces(client: httpx.Client) -> None:
    assert upload(client, "plan.md", "# Plan\n\nThe wombats leave first.\n")["state"] == "indexed"
    assert found(client, "wombats") == {".uploads/plan.md"}
    assert upload(client, "plan.md", "# Plan\n\nThe numbats leave first.\n")["state"] == "indexed"
    assert found(client, "wombats") == set()
    assert found(client, "numbats") == {".uploads/plan.md"}
    nfd = "cafe\u0301.txt"
    assert upload(client, nfd, "ornitorrincos")["source"] == ".uploads/café.txt"
    assert upload(client, "café.txt", "equidnas")["source"] == ".uploads/café.txt"
    assert [name for name in listed(client) if name.startswith("caf")] == ["café.txt"]
    assert found(client, "ornitorrincos") == set()


def test_two_uploads_at_once_and_one_that_was_replaced_before_it_was_indexed(client: httpx.Client) -> None:
    first = send(client, "fast.md", "# Fast\n\nFirst words.\n").json()["upload_id"]
    other = send(client, "other.md", "# Other\n\nOther words.\n").json()["upload_id"]
    second = send(client, "fast.md", "# Fast\n\nSecond words.\n").json()["upload_id"]
    assert first != second
    assert watch(client, first)[0][-1][1] == {
        "state": "refused",
        "reason": "another file of this name has replaced it",
        "source": ".uploads/fast.md",
    }
    assert watch(client, second)[0][-1][1]["state"] == "indexed"
    assert watch(client, other)[0][-1][1]["state"] == "indexed"
    assert watch(client, other)[0][-1][1]["state"] == "indexed", "who comes later is told as well"


def test_bad_files_are_named_with_a_plain_reason(client: httpx.Client) -> None:
    ended = upload(client, "torn.pdf", b"%PDF-1.7\nnot a pdf")
    assert ended["state"] == "quarantined"
    assert "PDF" in str(ended["reason"])
    assert listed(client)["torn.pdf"]["state"] == "quarantined"
    documents = client.get("/api/documents", params={"state": "quarantined"}).json()["documents"]
    assert {item["source"]: item["reason"] for item in documents}[".uploads/torn.pdf"] == ended["reason"]
    ended = upload(client, "mine.md", "---\nrag: false\n---\n# Mine\n\nPangolins.\n")
    assert ended["state"] == "excluded"
    assert ended["reason"]
    assert found(client, "pangolins") == set()


def test_deleting_takes_a_file_out_of_everything(client: httpx.Client, shelf: Library) -> None:
    assert upload(client, "secret plan.txt", "the axolotl gambit")["state"] == "indexed"
    upload_id = listed(client)["secret plan.txt"]["upload_id"]
    answer = client.delete("/api/uploads/secret%20plan.txt")
    assert (answer.status_code, answer.json()) == (200, {"deleted": ".uploads/secret plan.txt"})
    assert found(client, "axolotl") == set(), "at once, not with the next sync"
    assert "secret plan.txt" not in listed(client)
    assert not (folder(shelf) / "secret plan.txt").exists()
    assert client.get(f"/api/uploads/{upload_id}/events").status_code == 404
    assert client.delete("/api/uploads/secret%20plan.txt").status_code == 404
    database = Database.from_settings(shelf.settings)

    def forgotten() -> bool:
        with database.connect() as connection:
            rows = connection.execute("SELECT FROM parsed WHERE content ILIKE '%axolotl%'").fetchall()
            return not rows

    wait_until(forgotten)


@pytest.mark.parametrize("name", ["../../vault/deploy.md", "..%2Fdeploy.md", ".uploads/../deploy.md", "/etc/passwd"])
def test_nothing_but_an_upload_can_be_deleted(client: httpx.Client, shelf: Library, name: str) -> None:
    assert client.delete(f"/api/uploads/{quote(name, safe='')}").status_code == 404
    assert (shelf.root / "deploy.md").exists()


HOSTILE = {
    "../../vault/evil.md": "path",
    "..\\evil.md": "path",
    "/etc/cron.d/evil.md": "path",
    "a\x00b.md": "control",
    "a\x1bb.md": "control",
    "exe\u202efdp.md": "control",
    "CON.md": "Windows",
    "com1.pdf": "Windows",
    "nul.tar.md": "Windows",
    ".hidden.md": "dot",
    ".vaultline-uploads": "dot",
    "x" * 253 + ".md": "255 bytes",
    "ñ" * 127 + ".md": "255 bytes",
    "~$plan.md": "editors",
    "plan (conflicted copy).md": "conflict",
    "   ": "no name",
    "program.exe": "only PDF, Markdown and text",
    "page.html": "only PDF, Markdown and text",
    "no ending": "only PDF, Markdown and text",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_refused_with_a_reason(client: httpx.Client, shelf: Library, name: str) -> None:
    before = sorted(folder(shelf).iterdir())
    answer = raw_form(client, name.encode())
    assert answer.status_code in (400, 415), answer.text
    assert HOSTILE[name] in answer.json()["detail"]
    assert sorted(folder(shelf).iterdir()) == before
    assert set(shelf.root.iterdir()) == {shelf.root / "deploy.md"}


def raw_form(client: httpx.Client, name: bytes, content: bytes = b"# Text\n") -> httpx.Response:
    """A form as an attacker writes it: nothing in the name is escaped."""
    body = b'--b\r\nContent-Disposition: form-data; name="file"; filename="' + name + b'"\r\n\r\n' + content
    return client.post(
        "/api/uploads",
        content=body + b"\r\n--b--\r\n",
        headers={"Content-Type": "multipart/form-data; boundary=b"},
    )


@pytest.mark.parametrize("name", ["ñ" * 126 + ".md", "x" * 251 + ".txt", 'a"b;c=d.md', "日本語 – 100%.md", "a?*:b.txt"])
def test_odd_names_are_taken_as_they_are(client: httpx.Client, shelf: Library, name: str) -> None:
    answer = raw_form(client, name.replace('"', '\\"').encode())
    assert answer.status_code == 202, answer.text
    assert answer.json()["source"] == f".uploads/{name}"
    assert (folder(shelf) / name).is_file()
    assert client.delete(f"/api/uploads/{quote(name, safe='')}").status_code == 200


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("photo.md", b"\x89PNG\r\n\x1a\n" + bytes(50), "a PNG image"),
        ("office.txt", b"PK\x03\x04" + bytes(50), "a zip archive"),
        ("really.md", b"%PDF-1.7\n%", "name end in .pdf"),
        ("noise.txt", bytes(range(1, 32)) * 50, "binary"),
        ("letter.pdf", b"Dear all,\n", "its content does not"),
        ("empty.md", b"", "empty"),
    ],
)
def test_files_that_are_not_what_their_name_says(client: httpx.Client, name: str, content: bytes, says: str) -> None:
    answer = send(client, name, content)
    assert answer.status_code in (400, 415)
    assert says in answer.json()["detail"]
    assert name not in listed(client)


def test_large_files_are_refused_before_and_while_they_come(client: httpx.Client, shelf: Library) -> None:
    before = sorted(folder(shelf).iterdir())
    answer = send(client, "long.md", "x" * (2 * LIMIT))
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    address = urlsplit(str(client.base_url))
    connection = http.client.HTTPConnection(str(address.hostname), address.port, timeout=60)
    head = b'--b\r\nContent-Disposition: form-data; name="file"; filename="long.md"\r\n\r\n'
    parts = iter([head, *[b"word " * 2_000] * 100])
    connection.request(
        "POST",
        "/api/uploads",
        body=parts,
        headers={"Content-Type": "multipart/form-data; boundary=b"},
        encode_chunked=True,
    )
    assert connection.getresponse().status == 413, "no length was told"
    connection.close()
    assert sorted(folder(shelf).iterdir()) == before
    assert client.post("/api/search", content=b"x" * 2_000_000).status_code == 413, "only uploads may be large"
    assert client.post("/mcp", content=b"x" * 2_000_000).status_code == 413


def test_forms_that_are_none(client: httpx.Client, shelf: Library) -> None:
    before = sorted(folder(shelf).iterdir())
    form = {"Content-Type": "multipart/form-data; boundary=b"}
    part = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.md"\r\n\r\nText\r\n'
    for content, headers, code in [
        (b"{}", {"Content-Type": "application/json"}, 415),
        (b"", {}, 415),
        (b"nonsense", form, 400),
        (part, form, 400),  # ends before its end
        (part + part + b"--b--\r\n", form, 400),
        (b'--b\r\nContent-Disposition: form-data; name="other"\r\n\r\nx\r\n--b--\r\n', form, 400),
        (part + b"--b--\r\n", {"Content-Type": "multipart/form-data"}, 415),
    ]:
        answer = client.post("/api/uploads", content=content, headers=headers)
        assert answer.status_code == code, (content, answer.text)
        assert answer.headers["content-type"] == "application/problem+json"
    assert sorted(folder(shelf).iterdir()) == before


def test_a_client_that_breaks_off_leaves_nothing(client: httpx.Client, shelf: Library) -> None:
    before = sorted(folder(shelf).iterdir())
    address = urlsplit(str(client.base_url))
    connection = http.client.HTTPConnection(str(address.hostname), address.port, timeout=60)
    connection.putrequest("POST", "/api/uploads")
    connection.putheader("Content-Type", "multipart/form-data; boundary=b")
    connection.putheader("Content-Length", "5000")
    connection.endheaders(b'--b\r\nContent-Disposition: form-data; name="file"; filename="half.md"\r\n\r\nHalf')
    wait_until(lambda: len(list(folder(shelf).iterdir())) > len(before))
    connection.close()
    wait_until(lambda: sorted(folder(shelf).iterdir()) == before)


def test_a_client_that_leaves_does_not_stop_the_indexing(client: httpx.Client) -> None:
    upload_id = send(client, "left.md", "# Left\n\nCapybaras stay.\n").json()["upload_id"]
    with client.stream("GET", f"/api/uploads/{upload_id}/events") as response:
        next(response.iter_lines())
    wait_until(lambda: listed(client)["left.md"]["state"] == "indexed")
    assert found(client, "capybaras") == {".uploads/left.md"}


@pytest.mark.parametrize("upload_id", ["x", "0" * 48, "0" * 47, "../events", "%00"])
def test_ids_that_are_none(client: httpx.Client, upload_id: str) -> None:
    assert client.get(f"/api/uploads/{upload_id}/events").status_code in (404, 422)


def test_other_sites_cannot_upload(client: httpx.Client) -> None:
    answer = client.post("/api/uploads", files={"file": ("a.md", "x")}, headers={"Origin": "https://evil.example"})
    assert answer.status_code == 403


def test_a_draft_is_written_once_for_an_unanswered_question(client: httpx.Client, shelf: Library) -> None:
    def unicorn() -> dict[str, str]:
        questions = client.get("/api/unanswered", params={"limit": 500}).json()["questions"]
        [question] = [question for question in questions if "unicorn" in question["question"]]
        return dict(question)

    client.get("/api/search", params={"q": "when does the unicorn leave"})
    question = unicorn()
    assert question["drafted_at"] is None
    answer = client.post(f"/api/unanswered/{question['id']}/draft")
    assert answer.status_code == 201
    path = shelf.root / answer.json()["path"]
    assert path.parent == shelf.root / "agent_learnings"
    assert "publish: false" in path.read_text()
    assert "unicorn" in path.read_text()
    assert unicorn()["drafted_at"]
    refused = client.post(f"/api/unanswered/{question['id']}/draft")
    assert (refused.status_code, refused.json()["code"]) == (409, "draft_refused")
    assert client.post(f"/api/unanswered/{'0' * 16}/draft").status_code == 404
    assert client.post("/api/unanswered/..%2f/draft").status_code in (404, 422)
    evil = {"Origin": "https://evil.example"}
    assert client.post(f"/api/unanswered/{question['id']}/draft", headers=evil).status_code == 403
    assert [item.name for item in path.parent.iterdir()] == [path.name]
    shutil.rmtree(path.parent)


def test_search_answers_while_uploads_are_indexed(client: httpx.Client) -> None:
    upload_id = send(client, "busy.md", "\n\n".join(f"# Part {n}\n\nMarmot {n}." for n in range(300))).json()[
        "upload_id"
    ]
    answered = 0
    while listed(client)["busy.md"]["state"] == "pending":
        assert client.get("/api/search", params={"q": "deploy approvals"}).status_code == 200
        answered += 1
    assert answered
    assert watch(client, upload_id)[0][-1][1]["state"] == "indexed"


def test_every_sync_of_uploads_is_recorded_one_at_a_time(client: httpx.Client, shelf: Library) -> None:
    from pipelines.dagster_home import open_instance

    with open_instance(shelf.settings) as instance:
        records = instance.get_run_records()
    spans = sorted(
        (record.start_time, record.end_time)
        for record in records
        if record.dagster_run.tags.get("dagster/partition") == "%2Euploads"
        and record.start_time is not None
        and record.end_time is not None
    )
    assert len(spans) >= 5
    assert all(before[1] <= after[0] for before, after in pairwise(spans))


@pytest.mark.slow
def test_the_index_is_what_a_clean_build_gives(
    client: httpx.Client, shelf: Library, new_database: Callable[[], Database], new_home: Callable[[], Path]
) -> None:
    """The last one: everything that the tests before did to this shelf, and a server killed with all it had started."""
    environ = environment(shelf)
    port = free_port()
    victim = subprocess.Popen(
        [*VAULTLINE, "serve", "--port", str(port)], env=environ, cwd=REPOSITORY, stderr=subprocess.DEVNULL
    )
    with httpx.Client(base_url=f"http://127.0.0.1:{port}") as other:
        wait_until(lambda: other.get("/").status_code == 200, process=victim)
        for number in range(3):
            send(other, f"late {number}.md", f"# Late {number}\n\n" + f"Word {number} of it.\n\n" * 50)
    started = psutil.Process(victim.pid).children(recursive=True)
    assert started
    victim.kill()
    victim.wait()
    for process in started:
        process.kill()
    (folder(shelf) / "by hand.md").write_text("# By hand\n\nPut here without the server.\n")
    (folder(shelf) / "plan.md").unlink()
    with running_server(environ, folder(shelf).parent / "third.log") as url, httpx.Client(base_url=url) as other:
        wait_until(lambda: all(item["state"] != "pending" for item in listed(other).values()))
        assert {"late 0.md", "late 1.md", "late 2.md", "by hand.md"} <= set(listed(other))
    sync(shelf.settings)
    assert_same_as_clean_build(shelf.settings, new_database=new_database, home=new_home())
