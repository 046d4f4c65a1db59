"""`vaultline search`, `eval` and `unanswered`: ask, measure the answers, and see what found none."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipelines.settings import Settings

if TYPE_CHECKING:
    from pipelines.retrieval.searcher import Searcher
    from pipelines.storage.database import Database

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")


@click.command()
@click.argument("query")
@click.option("-k", default=10, show_default=True, type=click.IntRange(1, 100), help="How many passages.")
@click.option("--locale", help="Search this language first.")
@click.option("--folder", help="Only this folder of the vault.")
@click.option("--mode", type=click.Choice(["hybrid", "vector", "text"]), default="hybrid", show_default=True)
@json_option
def search(query: str, k: int, locale: str | None, folder: str | None, mode: str, as_json: bool) -> None:
    """Find cited passages that answer QUERY."""
    from pipelines.retrieval import unanswered as questions
    from pipelines.retrieval.render import render

    settings = Settings.load()
    with _searcher(settings) as (database, searcher):
        result = searcher.search(query, k=k, locale=locale, folder=folder, mode=mode)
        questions.record(database, result, settings)
    if as_json:
        _print(result.to_json())
    else:
        click.echo(render(result, settings=settings, terminal=sys.stdout.isatty()))


@click.command("eval")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--generation", type=int, help="A live generation by its number (default: the active one).")
@click.option("--calibrate", is_flag=True, help="Learn weights and thresholds from FILE first, and store them.")
@json_option
def evaluate(file: Path, generation: int | None, calibrate: bool, as_json: bool) -> None:
    """Measure retrieval on the golden set FILE, and compare with the last time."""
    from pipelines.retrieval import evaluation, history, learning
    from pipelines.storage import generation_states, generations

    settings = Settings.load()
    with _searcher(settings) as (database, searcher):
        if calibrate:
            learnt = learning.calibrate(searcher, file, generation=generation)
            with database.connect() as connection:
                active = generations.active_generation(connection)
                number = generation if generation is not None or active is None else active.id
                if number is not None:
                    generation_states.put_calibration(connection, number, learnt)
        measured = evaluation.evaluate(searcher, file, generation=generation)
        recorded = history.record(database, measured)
    if as_json:
        _print({**measured.to_json(), "since_last": [difference.to_json() for difference in recorded.differences]})
        return
    click.echo(measured.table().round(3).to_string())
    for item in measured.failures()[:20]:
        what = "not found or refused" if item.answerable else "answered, though there is no answer"
        click.echo(f"{what}: {item.question}")
    for difference in recorded.differences:
        if difference.locale is None:
            click.echo(
                f"since the last time: {difference.figure} {difference.mean:+.3f} "
                f"[{difference.low:+.3f}, {difference.high:+.3f}]"
            )


@click.group()
def unanswered() -> None:
    """Questions that found no good answer."""


@unanswered.command("list")
@json_option
def unanswered_list(as_json: bool) -> None:
    """List them, the most asked first."""
    from pipelines.retrieval.unanswered import most_asked

    items = most_asked(_database(Settings.load()))
    if as_json:
        _print(
            [{"question": i.asked, "times": i.times, "locale": i.locale, "last": i.last_at.isoformat()} for i in items]
        )
        return
    for item in items:
        click.echo(f"{item.times:>4}  {item.asked}")
    if not items:
        click.echo("every question was answered")


@unanswered.command("export")
def unanswered_export() -> None:
    """Write a FAQ draft for each into agent_learnings/ of the vault, for a person to finish."""
    from pipelines.resources.store import Store
    from pipelines.retrieval.unanswered import export_drafts

    settings = Settings.load()
    for path in export_drafts(_database(settings), Store(settings).vault):
        click.echo(path)


def _database(settings: Settings) -> "Database":
    from pipelines.storage.database import Database
    from pipelines.storage.migrations import migrate

    database = Database.from_settings(settings)
    migrate(database)
    return database


@contextmanager
def _searcher(settings: Settings) -> "Iterator[tuple[Database, Searcher]]":
    from pipelines.retrieval.searcher import Searcher

    database = _database(settings)
    searcher = Searcher(database, settings)
    try:
        yield database, searcher
    finally:
        searcher.close()
        database.close()


def _print(document: object) -> None:
    click.echo(json.dumps(document, ensure_ascii=False, default=str))
