"""Where links lead."""

import pytest

from pipelines.parsing.document import Link
from pipelines.parsing.links import KnownSources, resolve_links

VAULT = (
    "Home.md",
    "guides/Setup.md",
    "guides/images/diagram.png",
    "guides/deep/Setup.md",
    "ops/Runbook.md",
    "ops/index.md",
    "people/Ana.md",
    "es/Póliza.md",
    "files/contract.pdf",
    "board.canvas",
    "a/Note.md",
    "b/Note.md",
)


def lead(source: str, target: str, kind: str = "wikilink") -> str | None:
    ((_, found),) = resolve_links(source, [Link(target, None, kind)], VAULT)  # type: ignore[arg-type]
    return found


@pytest.mark.parametrize(
    ("source", "target", "found"),
    [
        ("Home.md", "Runbook", "ops/Runbook.md"),
        ("Home.md", "runbook", "ops/Runbook.md"),
        ("Home.md", "Runbook.md", "ops/Runbook.md"),
        ("Home.md", "ops/Runbook", "ops/Runbook.md"),
        ("Home.md", "OPS/RUNBOOK.MD", "ops/Runbook.md"),
        ("Home.md", "Setup", "guides/Setup.md"),
        ("guides/deep/Other.md", "Setup", "guides/deep/Setup.md"),
        ("Home.md", "deep/Setup", "guides/deep/Setup.md"),
        ("guides/Setup.md", "./deep/Setup", "guides/deep/Setup.md"),
        ("guides/deep/Setup.md", "../Setup", "guides/Setup.md"),
        ("Home.md", "póliza", "es/Póliza.md"),
        ("Home.md", "Po\u0301liza", "es/Póliza.md"),
        ("Home.md", "contract.pdf", "files/contract.pdf"),
        ("Home.md", "board.canvas", "board.canvas"),
        ("b/Other.md", "Note", "b/Note.md"),
        ("Home.md", "Note", "a/Note.md"),
        ("Home.md", "Nowhere", None),
        ("Home.md", "contract", None),
        ("Home.md", "", "Home.md"),
    ],
)
def test_wikilinks(source: str, target: str, found: str | None) -> None:
    assert lead(source, target) == found


@pytest.mark.parametrize(
    ("source", "target", "found"),
    [
        ("ops/index.md", "../guides/Setup.md", "guides/Setup.md"),
        ("ops/index.md", "Runbook.md", "ops/Runbook.md"),
        ("ops/index.md", "../es/P%C3%B3liza.md", "es/Póliza.md"),
        ("ops/index.md", "/guides/Setup.md", "guides/Setup.md"),
        ("guides/Setup.md", "deep/Setup.md", "guides/deep/Setup.md"),
        ("guides/Setup.md", "images/diagram.png", "guides/images/diagram.png"),
        ("ops/index.md", "../../outside.md", None),
        ("ops/index.md", "missing.md", None),
    ],
)
def test_markdown_links(source: str, target: str, found: str | None) -> None:
    assert lead(source, target, "markdown") == found


def test_results_come_in_the_order_of_the_links_and_from_a_ready_index() -> None:
    links = [Link("Ana", "#Contact"), Link("Nowhere"), Link("Home", "^b1", "embed")]
    assert resolve_links("ops/index.md", links, KnownSources.of(VAULT)) == [
        (links[0], "people/Ana.md"),
        (links[1], None),
        (links[2], "Home.md"),
    ]
    assert resolve_links("ops/index.md", links, set(VAULT)) == resolve_links(
        "ops/index.md", links, KnownSources.of(VAULT)
    )
