"""Vaultline: from a team's folder of notes to cited, searchable passages in PostgreSQL."""

__version__ = "0.1.0"
