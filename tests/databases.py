"""Copies of the migrated, empty database: each for one test, or for the tests of one module."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

import psycopg
from psycopg.conninfo import make_conninfo

from pipelines.storage import server

_numbers = count(1)


@contextmanager
def migrated_database(template_url: str) -> Iterator[str]:
    """Address of a fresh copy of the migrated database, dropped when the block ends."""
    name = f"test_{os.getpid()}_{next(_numbers)}"
    maintenance = make_conninfo(template_url, dbname="postgres")
    with psycopg.connect(maintenance, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {server.DATABASE}")
    yield make_conninfo(template_url, dbname=name)
    with psycopg.connect(maintenance, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
