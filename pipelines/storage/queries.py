"""Named SQL statements from `sql/queries/*.sql`.

A statement begins at a line `-- name: the_name` and ends at the next one. Comment lines in between stay with it, so
that they show in the server's statistics. `%(name)s` are parameters; `{name}` are filled in by `psycopg.sql`.
"""

from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import LiteralString

from psycopg import sql

_MARK = "-- name: "


def sql_folder() -> Traversable:
    """The `sql` folder: inside the package when installed, beside it in a checkout."""
    packaged = files("pipelines").joinpath("sql")
    return packaged if packaged.is_dir() else Path(__file__).resolve().parents[2] / "sql"


@cache
def _statements() -> dict[str, str]:
    statements: dict[str, str] = {}
    for file in sorted(sql_folder().joinpath("queries").iterdir(), key=lambda entry: entry.name):
        if not file.name.endswith(".sql"):
            continue
        for block in ("\n" + file.read_text(encoding="utf-8")).split("\n" + _MARK)[1:]:
            name, _, body = block.partition("\n")
            if name.strip() in statements:
                raise ValueError(f"{file.name}: the statement {name.strip()} is defined twice")
            statements[name.strip()] = body.strip()
    return statements


def query(name: str, **parts: str | int | sql.Composable) -> sql.Composed:
    """The statement called `name`, with `{...}` replaced by quoted identifiers (text), literals (numbers) or SQL."""
    text: LiteralString = _statements()[name]  # from our own files, never from input
    return sql.SQL(text).format(**{key: _composable(part) for key, part in parts.items()})


def _composable(part: str | int | sql.Composable) -> sql.Composable:
    if isinstance(part, sql.Composable):
        return part
    return sql.Identifier(part) if isinstance(part, str) else sql.Literal(part)
