"""What properties say: title, tags, aliases, date, language."""

import pytest

from pipelines.parsing.document import Json
from pipelines.parsing.properties import aliases_of, date_of, locale_of, tags_of, title_of


@pytest.mark.parametrize(
    ("value", "title"),
    [
        ("Guide", "Guide"),
        ("  two\n lines ", "two lines"),
        (2026, "2026"),
        ("", None),
        (None, None),
        (["a"], None),
        (True, None),
    ],
)
def test_title(value: Json, title: str | None) -> None:
    assert title_of({"Title": value}) == title


@pytest.mark.parametrize(
    ("value", "tags"),
    [
        ("a", ("a",)),
        ("a, b", ("a", "b")),
        ("#a #b", ("a", "b")),
        (["a", "#b", None, 2026, "área/sub"], ("a", "b", "2026", "área/sub")),
        (None, ()),
        ([], ()),
        ({"a": 1}, ("a",)),
        ([["nested"]], ("nested",)),
        (["two words"], ("two words",)),
    ],
)
def test_tags_are_always_a_list_of_words(value: Json, tags: tuple[str, ...]) -> None:
    assert tags_of({"tags": value}, ()) == (tags, False)


def test_inline_tags_follow_and_none_comes_twice() -> None:
    assert tags_of({"tags": ["a"], "tag": "b"}, ["c", "a", "c"]) == (("a", "b", "c"), False)


def test_ten_thousand_tags_are_cut_and_said() -> None:
    tags, too_many = tags_of({}, [f"t{number}" for number in range(10_000)])
    assert (len(tags), too_many) == (1_000, True)


def test_aliases() -> None:
    assert aliases_of({"aliases": ["One", "Two, three"], "alias": "Four"}) == ("One", "Two, three", "Four")
    assert aliases_of({"alias": "One, Two"}) == ("One", "Two")


@pytest.mark.parametrize(
    ("properties", "locale"),
    [
        ({"lang": "es"}, "es"),
        ({"locale": "es-ES"}, "es"),
        ({"language": "pt_BR"}, "pt"),
        ({"idioma": "Español"}, "es"),
        ({"Lang": "EN"}, "en"),
        ({"lang": "中文"}, "zh"),
        ({"language": "Klingon of the north"}, None),
        ({"lang": None}, None),
        ({"lang": 7}, None),
        ({}, None),
    ],
)
def test_declared_locale(properties: dict[str, Json], locale: str | None) -> None:
    assert locale_of(properties) == locale


@pytest.mark.parametrize(
    ("properties", "date"),
    [
        ({"date": "2026-05-24"}, "2026-05-24"),
        ({"created": "2026-05-24 10:00:00"}, "2026-05-24T10:00:00"),
        ({"created": "2026-05-24T10:00:00Z"}, "2026-05-24T10:00:00+00:00"),
        ({"created": "2026-05-24 10:00:00 +0200"}, "2026-05-24T10:00:00+02:00"),
        ({"created": "2020-01-01", "updated": "2026-05-24"}, "2026-05-24"),
        ({"updated": "soon", "date": "2026-05-24"}, "2026-05-24"),
        ({"fecha": "24/05/2026"}, "2026-05-24"),
        ({"fecha": "05/04/2026"}, None),
        ({"fecha": "2026/05/24"}, "2026-05-24"),
        ({"date": "2026-13-45"}, None),
        ({"date": "31/31/2026"}, None),
        ({"date": 20260524}, None),
        ({}, None),
    ],
)
def test_declared_date(properties: dict[str, Json], date: str | None) -> None:
    assert date_of(properties) == date
