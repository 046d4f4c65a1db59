"""Partition keys (X07): short, plain, one for each folder."""

import re
import unicodedata
from urllib.parse import unquote

import pytest
from dagster._core.definitions.partitions.utils.base import INVALID_PARTITION_SUBSTRINGS
from hypothesis import example, given
from hypothesis import strategies as st

from pipelines.vault.folders import KEY_LIMIT, ROOT_KEY, folder_key, folder_label, folder_of

PART = st.text(st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1, max_size=60) | st.sampled_from(
    ["_root", "bucket-0007", "...", "a...b", "..", ".", "a, b", "~", "%7E", "a~0", "x" * 255, "ñ" * 127, "a%2Fb"]
)
FOLDER = st.lists(PART, min_size=1, max_size=3).map("/".join)


@pytest.mark.parametrize(
    ("source", "key", "label"),
    [
        ("nota.md", "_root", "(top of the vault)"),
        ("runbooks/kafka/lag.md", "runbooks", "runbooks"),
        ("Diseño de APIs/x.md", "Dise%C3%B1o%20de%20APIs", "Diseño de APIs"),
        ("_root/x.md", "%5Froot", "_root"),
        ("bucket-0007/x.md", "bucket%2D0007", "bucket-0007"),
        ("a, b/x.md", "a%2C%20b", "a, b"),
        ("a...b/x.md", "a%2E%2E%2Eb", "a...b"),
        ("v1.2/x.md", "v1.2", "v1.2"),
        ("../x.md", "%2E%2E", ".."),
        ("[x]/y.md", "%5Bx%5D", "[x]"),
        ("~/x.md", "%7E", "~"),
        ("a\nb/x.md", "a%0Ab", r"a\nb"),
        (r"canci\363n/x.md", "canci%5C363n", r"canci\363n"),
    ],
)
def test_keys_and_labels(source: str, key: str, label: str) -> None:
    assert folder_of(source, depth=1, buckets=0) == key
    assert folder_label(key) == label


def test_depth_takes_more_levels() -> None:
    assert folder_of("a/b/c/d.md", depth=2) == "a%2Fb"
    assert folder_of("a/d.md", depth=2) == "a"
    assert folder_of("d.md", depth=3) == ROOT_KEY
    assert folder_label("a%2Fb") == "a/b"


def test_both_unicode_forms_of_a_folder_have_one_key() -> None:
    nfd = unicodedata.normalize("NFD", "Año")
    assert nfd != "Año"
    assert folder_of(f"{nfd}/x.md") == folder_of("Año/x.md")
    assert folder_of(f"{nfd}/x.md", buckets=64) == folder_of("Año/x.md", buckets=64)


def test_a_long_folder_is_cut_and_still_told_from_its_like() -> None:
    one, other = "ñ" * 126 + "a", "ñ" * 126 + "b"
    keys = {folder_key(one), folder_key(other)}
    assert len(keys) == 2
    for key in keys:
        assert len(key) <= KEY_LIMIT
        assert re.fullmatch(r"ñ+… \([0-9a-f]{8}\)", folder_label(key))


def test_a_folder_that_looks_like_a_cut_key_is_not_one() -> None:
    cut = folder_key("x" * 255)
    assert folder_key(cut) != cut


@given(FOLDER)
@example("." * 255)
@example("é" * 85 + "\x01")
def test_a_key_is_safe_wherever_dagster_puts_it(folder: str) -> None:
    key = folder_key(folder)
    assert re.fullmatch(r"[A-Za-z0-9_.~%-]+", key)
    assert 0 < len(key) <= KEY_LIMIT
    assert not key.startswith(".")
    assert not any(part in key for part in [*INVALID_PARTITION_SUBSTRINGS, ",", ".."])
    assert folder_label(key).isprintable()


@given(FOLDER)
def test_a_key_that_is_not_cut_can_be_read_back(folder: str) -> None:
    key = folder_key(folder)
    if "~" not in key:
        assert unquote(key) == unicodedata.normalize("NFC", folder)


@given(FOLDER, FOLDER)
def test_different_folders_have_different_keys(one: str, other: str) -> None:
    same = unicodedata.normalize("NFC", one) == unicodedata.normalize("NFC", other)
    assert (folder_key(one) == folder_key(other)) == same


@given(FOLDER)
def test_no_folder_takes_a_reserved_key(folder: str) -> None:
    assert folder_key(folder) != ROOT_KEY
    assert not re.fullmatch(r"bucket-\d{4}", folder_key(folder))


@given(FOLDER, st.integers(1, 1024))
def test_buckets_depend_on_nothing_but_the_source(folder: str, buckets: int) -> None:
    key = folder_of(f"{folder}/x.md", buckets=buckets)
    assert key == folder_of(f"{folder}/x.md", depth=5, buckets=buckets)
    assert 0 <= int(key.removeprefix("bucket-")) < buckets


def test_buckets_are_the_same_on_every_machine_and_about_even() -> None:
    keys = [folder_of(f"nota {number}.md", buckets=8) for number in range(4000)]
    assert folder_of("nota 1.md", buckets=8) == "bucket-0001"
    assert folder_label("bucket-0001") == "bucket 1"
    assert all(400 < keys.count(f"bucket-{bucket:04d}") < 600 for bucket in range(8))
