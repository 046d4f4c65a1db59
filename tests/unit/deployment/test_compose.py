"""docker-compose.yml is what the Compose specification describes, and keeps this project's own rules."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
COMPOSE = ROOT / "docker-compose.yml"


def _follows_the_specification(path: Path) -> subprocess.CompletedProcess[str]:
    """Ask check-jsonschema, which has the specification's JSON schema with it."""
    command = [Path(sys.executable).with_name("check-jsonschema"), "--builtin-schema", "vendor.compose-spec", path]
    return subprocess.run([str(word) for word in command], capture_output=True, text=True)


def test_it_follows_the_compose_specification(tmp_path: Path) -> None:
    done = _follows_the_specification(COMPOSE)
    assert done.returncode == 0, done.stdout
    wrong = tmp_path / "docker-compose.yml"
    wrong.write_text(COMPOSE.read_text(encoding="utf-8").replace("cap_drop: [ALL]", "cap_drop: ALL"), encoding="utf-8")
    assert "cap_drop" in _follows_the_specification(wrong).stdout, "the schema is asked for real"


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    return dict(yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))["services"])


def test_what_runs_our_image_is_not_root_and_has_no_rights(services: dict[str, Any]) -> None:
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    users = re.findall(r"^USER (\S+)", dockerfile, re.MULTILINE)
    assert users
    assert users[-1] not in ("root", "0")
    after = dockerfile[dockerfile.rindex("USER ") :]
    assert "RUN" not in after, "nothing is installed as the user that serves"
    for name, service in services.items():
        assert service.get("user", "vaultline").split(":")[0] not in ("root", "0"), name
        assert "no-new-privileges:true" in service["security_opt"], name
        for forbidden in ("privileged", "cap_add", "devices", "pid", "ipc", "network_mode"):
            assert forbidden not in service, name
        assert name == "postgres" or service["cap_drop"] == ["ALL"], name


def test_the_vault_is_mounted_read_only(services: dict[str, Any]) -> None:
    mounts = [
        mount for service in services.values() for mount in service["volumes"] if "/vault" in mount.split(":")[1:]
    ]
    assert mounts
    assert all(re.search(r":/vault:ro$", mount) for mount in mounts)


def test_every_service_that_stays_has_a_health_check_and_waits_for_what_it_needs(services: dict[str, Any]) -> None:
    stays = {name for name, service in services.items() if service["restart"] != "no"}
    assert stays == set(services) - {"migrate"}
    for name in stays:
        check = services[name]["healthcheck"]
        assert check["test"][0] in ("CMD", "CMD-SHELL")
        assert {"interval", "timeout", "retries", "start_period"} <= set(check), name
    waits = {name: service.get("depends_on", {}) for name, service in services.items()}
    assert waits["migrate"] == {"postgres": {"condition": "service_healthy"}}
    for name in ("code-server", "serve"):
        assert waits[name]["migrate"] == {"condition": "service_completed_successfully"}, "the schema comes first"
    for name in ("webserver", "daemon"):
        assert waits[name]["code-server"] == {"condition": "service_healthy"}


def test_no_secret_is_written_into_it(services: dict[str, Any]) -> None:
    for name, service in services.items():
        for variable, value in service.get("environment", {}).items():
            if re.search(r"PASSWORD|TOKEN|KEY|SECRET", variable):
                assert re.fullmatch(r"\$\{\w+(:\?[^}]*)?\}", str(value)), f"{name}: {variable}"
            for password in re.findall(r"//\w+:([^@]+)@", str(value)):
                assert password.startswith("${"), f"{name}: {variable}"
    text = COMPOSE.read_text(encoding="utf-8")
    assert "${POSTGRES_PASSWORD:?" in text, "without one, compose stops and says so"
