"""Symbolic links (B32): none leads out unasked, every loop ends, nothing is read twice."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.vault.scan import Scan
from tests.unit.vault.conftest import Vault


@pytest.fixture
def outside(tmp_path: Path) -> Vault:
    root = tmp_path / "outside"
    root.mkdir()
    vault = Vault(root)
    vault.write("secreto.md", "secreto")
    vault.write("carpeta/dentro.md")
    return vault


def following(vault: Vault) -> Scan:
    vault.rules = replace(vault.rules, follow_links=True)
    return vault.scan()


def test_links_out_of_the_vault_are_not_followed(vault: Vault, outside: Vault) -> None:
    vault.link("fuera.md", "/etc/hostname")
    vault.link("secreto.md", outside.root / "secreto.md")
    vault.link("relativo.md", "../outside/secreto.md")
    vault.link("carpeta", outside.root / "carpeta")
    vault.link("con nombre de nota.md", outside.root / "carpeta")
    vault.link("imagen.png", "/etc/hostname")
    scan = vault.scan()
    assert vault.excluded() == dict.fromkeys(
        ["fuera.md", "relativo.md", "secreto.md"], "a link to a file outside the vault"
    )
    assert scan.excluded_folders == dict.fromkeys(
        ["carpeta", "con nombre de nota.md"], "a link to a folder outside the vault"
    )
    assert vault.readable() == []
    assert scan.warnings == ()


def test_the_size_of_a_file_outside_is_not_told(vault: Vault, outside: Vault) -> None:
    outside.write("secreto.md", "x" * 5000)
    vault.link("a.md", "../outside/secreto.md")
    assert vault.scan().files["a.md"].size == len("../outside/secreto.md")


def test_a_folder_beside_the_vault_whose_name_begins_alike_is_outside(vault: Vault, tmp_path: Path) -> None:
    Vault(tmp_path / "vault2").write("a.md")
    vault.link("a.md", "../vault2/a.md")
    assert vault.excluded() == {"a.md": "a link to a file outside the vault"}


def test_links_inside_the_vault_add_nothing(vault: Vault) -> None:
    vault.write("notas/a.md")
    vault.link("alias.md", "notas/a.md")
    vault.link("alias", "notas")
    vault.link("chain.md", "alias.md")
    vault.link("notas/hidden.md", "../.privado/x.md")
    vault.write(".privado/x.md")
    for scan in (vault.scan(), following(vault)):
        assert vault.readable() == ["notas/a.md"]
        assert set(vault.excluded()) == {"alias.md", "chain.md", "notas/hidden.md"}
        assert scan.excluded_folders == {"alias": "a link to a folder inside the vault"}


@pytest.mark.parametrize("target", ["..", ".", "../..", "/"])
def test_loops_end(vault: Vault, target: str) -> None:
    vault.write("sub/a.md")
    vault.link("bucle", target)
    vault.link("sub/bucle", f"../{target}")
    vault.link("uno", "dos")
    vault.link("dos", "uno")
    for _ in (vault.scan(), following(vault)):
        assert vault.readable() == ["sub/a.md"]


def test_with_the_setting_links_lead_out(vault: Vault, outside: Vault) -> None:
    outside.write("carpeta/node_modules/x.md")
    outside.write("carpeta/.oculta/x.md")
    outside.write("carpeta/borrador.md")
    vault.write(".vaultignore", "borrador.md\n")
    vault.link("secreto.md", outside.root / "secreto.md")
    vault.link("carpeta", outside.root / "carpeta")
    scan = following(vault)
    assert vault.readable() == ["carpeta/dentro.md", "secreto.md"]
    assert scan.files["secreto.md"].size == len("secreto")
    assert scan.files["carpeta/dentro.md"].disk_path == b"carpeta/dentro.md"
    assert list(scan.excluded_folders) == ["carpeta/node_modules"]


def test_a_folder_outside_that_two_links_lead_to_is_read_once_under_the_first_name(
    vault: Vault, outside: Vault
) -> None:
    outside.link("carpeta/bucle", ".")
    outside.link("carpeta/subir", "..")
    for name in ["c", "a", "b"]:
        vault.link(name, outside.root / "carpeta")
    scan = following(vault)
    assert [source for source in vault.readable() if source.endswith("dentro.md")] == ["a/dentro.md"]
    assert scan.excluded_folders["b"] == "a folder outside the vault that another link has led to"


def test_vaultlines_home_stays_out_through_a_link(vault: Vault, outside: Vault) -> None:
    vault.link("home", outside.root / "carpeta")
    vault.rules = replace(vault.rules, home=outside.root / "carpeta")
    assert following(vault).excluded_folders == {"home": "Vaultline's own folder (VAULTLINE_HOME)"}


def test_a_link_to_a_pipe_does_not_block(vault: Vault, outside: Vault) -> None:
    os.mkfifo(outside.path("pipe"))
    vault.link("a.md", outside.root / "pipe")
    following(vault)
    assert vault.problems() == {"a.md": "not a file but a named pipe"}
