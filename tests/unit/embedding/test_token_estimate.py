"""An estimate that is never too low on what people write."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.embedding.token_estimate import SPECIAL, estimate_tokens, halves, split_by_estimate
from pipelines.embedding.tokenizing import TextTokenizer

WRITTEN = [
    "The backup is restored in fifteen minutes by the on-call engineer, who then writes a post-mortem.",
    "La póliza de copias de seguridad se revisa cada trimestre; el año pasado falló dos veces.",
    "```python\nfor index, (name, value) in enumerate(sorted(table.items())):\n    print(index, name, value)\n```",
    "| servicio | dueño | SLO |\n|---|---|---|\n| pagos | equipo azul | 99,9 % |",
    "sha256 53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "aGVsbG8gd29ybGQgdGhpcyBpcyBhIGxvbmcgYmFzZTY0IHN0cmluZw==",
    "日本語のメモと中文笔记。",
    "https://example.org/a/very/long/path?with=many&parameters=12345&and=more#fragment",
]


@pytest.mark.parametrize("text", WRITTEN)
def test_over_the_real_count(text: str, minilm_folder: Path) -> None:
    tokenizer = TextTokenizer(minilm_folder / "tokenizer.json", max_tokens=1_000_000)
    assert estimate_tokens(text) >= tokenizer.count([text])[0]


@pytest.mark.shared
def test_over_the_real_count_of_real_notes(shared_data: Path, minilm_folder: Path) -> None:
    """By an English WordPiece, which gives Spanish more tokens than a hosted model's own tokenizer does."""
    tokenizer = TextTokenizer(minilm_folder / "tokenizer.json", max_tokens=1_000_000)
    files = [*(shared_data / "help_vault").rglob("*.md"), *(shared_data / "runbooks").rglob("*.md")]
    texts = [text for file in files if (text := file.read_text()).strip()]
    real = tokenizer.count(texts)
    guesses = [estimate_tokens(text) for text in texts]
    low = [(guess, count) for guess, count in zip(guesses, real, strict=True) if guess < count]
    assert len(low) <= len(texts) // 100
    assert all(guess > 0.9 * count for guess, count in low)
    assert sum(guesses) < 2 * sum(real), "an estimate far too high would pay for it in requests"


@given(text=st.text(max_size=300), limit=st.integers(min_value=SPECIAL + 3, max_value=60))
def test_parts_are_the_whole_text_and_fit(text: str, limit: int) -> None:
    parts = split_by_estimate(text, limit=limit)
    assert "".join(parts) == text
    assert all(estimate_tokens(part) <= limit for part in parts)


def test_cut_at_white_space_where_there_is_some() -> None:
    parts = split_by_estimate("palabra larga " * 50, limit=40)
    assert all(part.endswith(" ") for part in parts)


@given(text=st.text(min_size=2, max_size=200))
def test_halves_are_the_whole_text_and_both_hold_something(text: str) -> None:
    one, other = halves(text)
    assert one + other == text
    assert one
    assert other


def test_empty_text_has_special_tokens_only() -> None:
    assert estimate_tokens("") == SPECIAL
