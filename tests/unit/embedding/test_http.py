"""What a provider's answer means."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from pipelines.embedding.http import (
    MAX_RETRY_AFTER,
    Endpoint,
    ProviderBusy,
    RequestRejected,
    checked_address,
    clean,
    error_of_status,
    message_of,
    retry_after_seconds,
)
from pipelines.errors import EmbeddingError, ModelUnavailable, ProviderRefused, SettingsError, Transient

ENDPOINT = Endpoint("voyage/voyage-3", "http://127.0.0.1:1/v1", "VOYAGE_API_KEY", ("pa-secret",))


def error(status: int, body: str = "", **headers: str) -> EmbeddingError:
    return error_of_status(ENDPOINT, status=status, headers=headers, body=body)


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (401, '{"detail": "bad key"}', ProviderRefused),
        (403, "", ProviderRefused),
        (404, "<html>", ModelUnavailable),
        (400, '{"detail": "Model voyage-9 is not supported. Supported models are x."}', ModelUnavailable),
        (400, '{"error": {"message": "model \\"x\\" not found, try pulling it first"}}', ModelUnavailable),
        (400, '{"detail": "anything else"}', RequestRejected),
        (413, "", RequestRejected),
        (422, "[]", RequestRejected),
        (408, "", ProviderBusy),
        (429, '{"detail": "rate limit"}', ProviderBusy),
        (
            429,
            '{"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}',
            ProviderRefused,
        ),
        (402, "", ProviderRefused),
        (500, "", ProviderBusy),
        (503, "<html>", ProviderBusy),
        (529, "", ProviderBusy),
        (301, "", ProviderRefused),
    ],
)
def test_kinds(status: int, body: str, kind: type[EmbeddingError]) -> None:
    found = error(status, body)
    assert type(found) is kind
    assert isinstance(found, Transient) == (kind is ProviderBusy)
    assert "voyage/voyage-3 at http://127.0.0.1:1/v1" in str(found)
    assert str(status) in str(found)


@pytest.mark.parametrize(
    ("said", "size", "inputs"),
    [
        ("The max allowed tokens per submitted batch is 120000. Your batch has 204800 tokens.", True, False),
        ("batch size 100 > maximum allowed batch size 32", True, True),
        ("The batch size limit is 1000. Your batch size is 1024.", True, True),
        ("the input length exceeds the context length", True, False),
        ("This model's maximum context length is 8192 tokens, however you requested 9000 tokens", True, False),
        ("input cannot be an empty string", False, False),
        ("content policy: not allowed", False, False),
    ],
)
def test_too_large_is_told_from_refused(said: str, size: bool, inputs: bool) -> None:
    found = error(400, f'{{"detail": "{said}"}}')
    assert isinstance(found, RequestRejected)
    assert (found.size, found.inputs) == (size, inputs)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('{"detail": "no"}', "no"),
        ('{"error": {"message": "no", "type": "x"}}', "no"),
        ('{"error": "no"}', "no"),
        ('{"message": "no"}', "no"),
        ('{"detail": [{"msg": "no", "loc": []}]}', "no"),
        ("plain", "plain"),
        ("<html><body>long</body></html>", "a page of HTML instead of JSON"),
        ("", "no reason given"),
    ],
)
def test_words_of_an_error_body(body: str, words: str) -> None:
    assert message_of(body) == words


def test_keys_are_taken_out() -> None:
    found = error(401, '{"detail": "the key pa-secret is not valid"}')
    assert "pa-secret" not in str(found)
    assert "VOYAGE_API_KEY" in str(found)
    assert "pa-secret" not in repr(ENDPOINT)


def test_a_quoted_note_is_taken_out() -> None:
    note = "El código de la puerta\nde la sala es 4711, no lo digas"
    assert "4711" not in clean("bad input: El código de la puerta de la sala es 4711", secrets=(), texts=[note])
    assert clean("bad input at 3", secrets=(), texts=[note]) == "bad input at 3"


def test_long_messages_are_cut_to_one_line() -> None:
    assert clean("a\nb " * 500, secrets=()).count("\n") == 0
    assert len(clean("a\nb " * 500, secrets=())) <= 300


class TestRetryAfter:
    def test_seconds(self) -> None:
        assert retry_after_seconds({"Retry-After": "3"}) == 3
        assert retry_after_seconds({"retry-after": "0.5"}) == 0.5

    def test_date(self) -> None:
        when = datetime.now(UTC) + timedelta(seconds=30)
        assert retry_after_seconds({"Retry-After": format_datetime(when, usegmt=True)}) == pytest.approx(30, abs=2)

    def test_past_date(self) -> None:
        assert retry_after_seconds({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0

    @pytest.mark.parametrize("value", ["86400", "Fri, 31 Dec 9998 23:59:59 GMT"])
    def test_capped(self, value: str) -> None:
        assert retry_after_seconds({"Retry-After": value}) == MAX_RETRY_AFTER

    @pytest.mark.parametrize("headers", [{}, {"Retry-After": ""}, {"Retry-After": "soon"}, {"Retry-After": "nan"}])
    def test_nothing_usable(self, headers: dict[str, str]) -> None:
        assert retry_after_seconds(headers) is None


class TestAddress:
    @pytest.mark.parametrize("url", ["http://localhost:11434/v1", "https://example.org/api/"])
    def test_good(self, url: str) -> None:
        assert checked_address(url, setting="X", key_setting="K") == url.rstrip("/")

    @pytest.mark.parametrize(
        "url", ["localhost:11434", "ftp://host", "http://", "http://u:hunter2@host", "http://host/?key=hunter2", ""]
    )
    def test_bad(self, url: str) -> None:
        with pytest.raises(SettingsError) as caught:
            checked_address(url, setting="EMBEDDING_BASE_URL", key_setting="EMBEDDING_API_KEY")
        assert "EMBEDDING_BASE_URL" in str(caught.value)
        assert "hunter2" not in str(caught.value)
