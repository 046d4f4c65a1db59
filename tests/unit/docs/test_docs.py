"""The documentation says what the code does."""

import re
import runpy
from pathlib import Path

import pipelines
from pipelines.cli import commands

ROOT = Path(__file__).resolve().parents[3]


def test_the_page_of_settings_is_made_from_the_code() -> None:
    page = runpy.run_path(str(ROOT / "docs" / "make_settings.py"))["page"]()
    assert (ROOT / "docs" / "settings.md").read_text(encoding="utf-8") == page, "run python docs/make_settings.py"


def test_the_changelog_knows_the_version() -> None:
    assert f"## [{pipelines.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_every_command_in_the_readme_exists() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")))
    named = set(re.findall(r"(?:^|[\s`(])vaultline ([a-z]+)\b", text))
    known = set(commands.commands)
    words = {"keeps", "is", "and", "needs", "runs"}  # prose
    assert named - words <= known, named - known


def test_every_link_in_the_docs_leads_to_a_file() -> None:
    for path in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        prose = re.sub(r"`[^`\n]*`", "", path.read_text(encoding="utf-8"))
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", prose):
            assert (path.parent / target).exists(), f"{path.name}: {target}"
