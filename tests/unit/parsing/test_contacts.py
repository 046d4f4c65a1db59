"""Addresses and numbers of people."""

import pytest

from pipelines.parsing.contacts import find_contacts


@pytest.mark.parametrize(
    "contact",
    [
        "ana.lopez+x@mail.example.org",
        "+34 600 123 456",
        "+34600123456",
        "600123456",
        "600 12 34 56",
        "+1 (415) 555-0100",
        "(415) 555-0100",
        "415-555-0100",
        "0034 91 123 45 67",
    ],
)
def test_found_whole(contact: str) -> None:
    ((start, end, placeholder),) = find_contacts(f"call {contact}, please")
    assert (start, end) == (5, 5 + len(contact))
    assert placeholder.startswith("[")


@pytest.mark.parametrize(
    "text",
    [
        "2026-05-24",
        "10.0.0.1",
        "192.168.100.200",
        "1,234,567",
        "v1.2.3",
        "port 8080",
        "1234567",
        "550e8400-e29b-41d4-a716-446655440000",
        "600123456789",
        "@someone",
        "2026-05-24T10:00:00+02:00",
        "1735689600123",
    ],
)
def test_not_contacts(text: str) -> None:
    assert find_contacts(text) == []
