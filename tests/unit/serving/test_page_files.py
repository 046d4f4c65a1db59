"""The files of the page: what others wrote is unchanged, what we wrote takes no shortcuts and speaks both languages."""

import hashlib
import json
import re

import pytest

from pipelines.serving.page import load_page
from tests.unit.serving.page_files import STATIC, own_files, own_scripts

VENDOR = STATIC / "vendor"
LONGEST_FILE = 300  # lines
ENTRY = re.compile(r'^  (\w+): (".*"),$', re.MULTILINE)
DYNAMIC = {  # keys that are put together, and from what
    "theme": ("auto", "light", "dark"),
    "view": ("chat", "search", "documents", "questions", "memories", "status"),
    "state": ("all", "indexed", "pending", "quarantined", "excluded", "refused"),
    "none": ("all", "indexed", "pending", "quarantined", "excluded"),
    "stage": ("send", "parse", "chunk", "embed", "store"),
    "memory": ("preference", "fact", "topic"),
    "health": ("healthy", "degraded", "unhealthy"),
    "component": ("database", "index", "embedder"),
    "generation": ("building", "active", "previous", "retired"),
}
BUILT = {f"{stem}_{end}" for stem, ends in DYNAMIC.items() for end in ends} | {"line", "lines", "page", "pages"}


def words(language: str) -> dict[str, str]:
    text = (STATIC / f"words.{language}.js").read_text(encoding="utf-8")
    entries = ENTRY.findall(text)
    assert len(entries) == sum(line.startswith("  ") for line in text.splitlines()), "a line is no entry"
    assert len({key for key, _ in entries}) == len(entries), "a key is there twice"
    return {key: json.loads(value) for key, value in entries}


def test_both_languages_have_the_same_words() -> None:
    english, spanish = words("en"), words("es")
    assert english.keys() == spanish.keys()
    for key, text in english.items():
        assert set(re.findall(r"\{\w+\}", text)) == set(re.findall(r"\{\w+\}", spanish[key])), key
        assert text.count(" | ") == spanish[key].count(" | "), key


def test_every_word_is_used_and_every_used_word_is_there() -> None:
    code = "\n".join(path.read_text(encoding="utf-8") for path in own_files() if not path.name.startswith("words."))
    known = words("en").keys()
    assert known - BUILT - set(re.findall(r'"(\w+)"', code)) == set()
    named = set(re.findall(r'data-(?:t|t-label|t-placeholder|title)="(\w+)"', code))
    named |= set(re.findall(r'\b(?:t|label|placeholder): "(\w+)"', code))
    named |= set(re.findall(r'\bt\("(\w+)"', code))
    assert (named | BUILT) - known == set()


def test_what_others_wrote_is_unchanged_and_named() -> None:
    readme = (VENDOR / "README.md").read_text(encoding="utf-8")
    listed = dict(reversed(pair) for pair in re.findall(r"^    ([0-9a-f]{64})  (\S+)$", readme, re.MULTILINE))
    found = {
        path.relative_to(VENDOR).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in VENDOR.rglob("*.js")
    }
    assert found == listed
    notice = (VENDOR / "NOTICE.txt").read_text(encoding="utf-8")
    for package, version in re.findall(r"\| `([\w@/-]+)`[^|]*\| ([\d.]+) \|", readme):
        assert f"{package} {version}" in notice


@pytest.mark.parametrize(
    "shortcut",
    [
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|\.srcdoc",
        r"\beval\b|new Function|setTimeout\(\s*[\"'`]",
        r"\bon(?:click|error|load|submit|input)\s*=\s*[\"'`]",
        r"\sstyle=|<style|<script>(?!\s*</)",
        r"https?://(?!www\.w3\.org/2000/svg)",
        r"@import|url\(",
        r"document\.cookie|postMessage|window\.open",
        r"console\.|debugger",
    ],
)
def test_what_we_wrote_takes_no_shortcut(shortcut: str) -> None:
    for path in own_files():
        assert not re.search(shortcut, path.read_text(encoding="utf-8")), path.name


def test_markup_becomes_elements_in_one_place() -> None:
    users = [path.name for path in own_scripts() if "DOMPurify" in path.read_text(encoding="utf-8")]
    assert users == ["markdown.js"]


def test_files_are_short() -> None:
    for path in own_files():
        lines = path.read_text(encoding="utf-8").splitlines()
        assert len(lines) <= LONGEST_FILE, path.name
    for path in own_scripts():
        assert max(map(len, path.read_text(encoding="utf-8").splitlines())) <= 120, path.name


def test_all_of_it_is_small_enough_to_be_sent_at_once() -> None:
    sent = {path: len(asset.packed or asset.body) for path, asset in load_page().assets.items()}
    first = sum(size for path, size in sent.items() if "/highlight/" not in path and not path.endswith(".txt"))
    assert first < 120_000
