"""X07: any name is a source and its folder a partition. X08: a placeholder does not replace what was indexed."""

import os
from collections.abc import Callable

import pytest

from pipelines.dagster_home import open_instance
from tests.integration.sync.living_vault import LivingVault, note

Converged = Callable[[LivingVault], None]

FOLDERS = (
    "a, b",
    "a...b",
    "[x]",
    "x..y",
    "line\nbreak",
    "tab\there",
    "quotes \"and' more",
    "con espacios y ñ",
    "e\u0301 decomposed",
    "100%",
    "_root",
    "bucket-0001",
    "C:\\windows",
    "f" * 200,
    "año" * 60,
)


@pytest.mark.slow
def test_odd_folders_are_partitions_of_their_own(vault: LivingVault, converged: Converged) -> None:
    for number, folder in enumerate(FOLDERS):
        vault.write(f"{folder}/note {number}.md", note(f"Note {number}", f"Text {number}."))
    vault.write("top.md", note("Top", "At the top."))
    long = "/".join(["long" * 10] * 8)
    vault.write(f"{long}/deep.md", note("Deep", "Far below."))
    vault.write("[x]/" + "n" * 252 + ".md", note("N", "A name of 255 bytes."))

    report = vault.sync()
    assert report.exit_code == 0
    assert len(vault.sources()) == len(FOLDERS) + 3
    keys = {row[0] for row in vault.rows("SELECT DISTINCT folder FROM document")}
    assert len(keys) == len(FOLDERS) + 2
    with open_instance(vault.settings) as instance:
        assert set(instance.get_dynamic_partitions("vault_folders")) == keys
    assert all(key.isascii() and key.isprintable() and len(key) <= 200 and "," not in key for key in keys)

    for folder in FOLDERS[::4]:
        vault.write(f"{folder}/more.md", note("More", f"More in {folder!r}."))
        report = vault.sync(folders=[folder])
        assert report.documents["added"] == 1, folder
    vault.write("top.md", note("Top", "At the top, edited."))
    assert vault.sync(folders=["_root"]).folders == ("_root",), "the top of the vault, not the folder of that name"
    assert vault.found("edited") == ["top.md"]
    vault.sync()
    converged(vault)


def test_a_folder_is_named_as_people_or_as_dagster_name_it(vault: LivingVault) -> None:
    vault.write("top.md", note("Top", "Text."))
    vault.write("a, b/n.md", note("N", "Text."))
    vault.sync()
    for name in ("_root", "a, b", "a%2C%20b", "a, b/"):
        assert vault.sync(folders=[name]).folders == ()


def test_a_placeholder_keeps_the_indexed_text(vault: LivingVault) -> None:
    vault.write("cloud.md", note("Cloud", "The text before it was evicted. " * 80))
    vault.write("lfs.pdf.md", note("Pointer", "The text before it was a pointer."))
    vault.write("here.md", note("Here", "Always here."))
    vault.sync()
    path = vault.path("cloud.md")
    size = path.stat().st_size
    path.unlink()
    with path.open("wb") as file:
        os.truncate(file.fileno(), size)
    vault.write(
        "lfs.pdf.md",
        "version https://git-lfs.github.com/spec/v1\n"
        "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n",
    )
    report = vault.sync()
    assert report.exit_code == 3
    assert set(vault.quarantined()) == {"cloud.md", "lfs.pdf.md"}
    assert vault.found("before it was") == ["cloud.md", "lfs.pdf.md"]
    assert vault.sync().folders == (), "remembered, not tried at every sync"
