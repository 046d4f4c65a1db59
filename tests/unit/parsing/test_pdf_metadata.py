"""What a PDF says about itself, and what is believed of it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.parsing.pdf_metadata import believable_title, declared_date, iso_date, properties_of


@pytest.mark.parametrize(
    "title",
    ["Untitled", "untitled document", "Untitled-2", "Sin título", "Microsoft Word - acta.doc", "Binder1.pdf",
     "sample_pdf", "Document1", "Adobe Photoshop PDF", "PowerPoint Presentation", "IMG_2041", "scan0001",
     "C:\\docs\\acta.docx",
     "12-34", "", "  ", "x", "d41d8cd98f00b204e9800998ecf8427e", "https://example.org/a", None, 7,
     "aspect.tif\x00", "Test"],
)  # fmt: skip
def test_titles_that_are_none(title: object) -> None:
    assert believable_title(title) is None


@pytest.mark.parametrize(
    ("title", "kept"),
    [
        ("Informe anual 2024", "Informe anual 2024"),
        ("Tagged PDF Demo", "Tagged PDF Demo"),
        ("Test Driven Development", "Test Driven Development"),
        ("Title IX Compliance Guide", "Title IX Compliance Guide"),
        ("Document management with S3", "Document management with S3"),
        ("The ﬁrst\x00 one", "The first one"),
    ],
)
def test_titles_that_are_kept(title: str, kept: str) -> None:
    assert believable_title(title) == kept


@pytest.mark.parametrize(
    ("value", "iso"),
    [
        ("D:20161104181349-04'00'", "2016-11-04T18:13:49-04:00"),
        ("D:20220414132421+05'24'", "2022-04-14T13:24:21+05:24"),
        ("D:20161208155717Z", "2016-12-08T15:57:17+00:00"),
        ("D:20200602122728Z00'00'", "2020-06-02T12:27:28+00:00"),
        ("D:20160728141406", "2016-07-28T14:14:06"),
        ("D:20160728", "2016-07-28"),
        ("20160728", "2016-07-28"),
        ("D:2016", "2016-01-01"),
        ("D:20161399", None),
        ("D:00000000000000", None),
        ("D:99999999", None),
        ("yesterday", None),
        ("", None),
        (None, None),
        ("D:20160728141406+99'00'", None),
    ],
)
def test_dates(value: object, iso: str | None) -> None:
    assert iso_date(value) == iso


def test_the_change_counts_before_the_making() -> None:
    metadata = {"modDate": "D:20240101", "creationDate": "D:20200101"}
    assert declared_date(metadata) == "2024-01-01"
    assert declared_date({**metadata, "modDate": "nonsense"}) == "2020-01-01"
    assert declared_date({}) is None


@given(st.dictionaries(st.sampled_from(["author", "title", "modDate", "creationDate", "keywords"]), st.text()))
def test_nothing_in_a_file_makes_it_raise(metadata: dict[str, str]) -> None:
    properties = properties_of(metadata, pages=1)
    json.dumps(properties).encode()
    assert "\x00" not in str(properties)
    believable_title(metadata.get("title"))
    declared_date(metadata)
