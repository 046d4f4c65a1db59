"""The search page runs its own script only, and puts no markup of notes into the page."""

import base64
import hashlib
import re

from pipelines.serving.page import search_page


def test_the_policy_names_the_script_and_style_and_nothing_else() -> None:
    page = search_page()
    text = page.body.decode()
    for tag in ("script", "style"):
        [content] = re.findall(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in page.policy
    assert page.policy.startswith("default-src 'none'")
    assert "unsafe" not in page.policy


def test_the_page_needs_nothing_from_elsewhere() -> None:
    text = search_page().body.decode()
    assert not re.search(r"https?://|\bsrc=|\bhref=|url\(|@import| on\w+=| style=", text)


def test_results_are_text() -> None:
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b", search_page().body.decode()
    )
