"""`vaultline generation`: change the embedding model without taking search down."""

import json
from typing import TYPE_CHECKING

import click

from pipelines.settings import Settings

if TYPE_CHECKING:
    from pipelines.storage.database import Database

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")


@click.group()
def generation() -> None:
    """Change the embedding model: plan, build beside the live index, promote, roll back."""


@generation.command("list")
@json_option
def list_generations(as_json: bool) -> None:
    """Every generation: state, progress, verdict of the gate, tokens and cost, disk."""
    from pipelines.generations import report
    from pipelines.storage import generation_states as states

    with _database(Settings.load()).connect() as connection:
        rows = states.details(connection)
    if as_json:
        _print([report.to_json(row) for row in rows])
        return
    for row in rows:
        click.echo(report.to_text(row))
    if not rows:
        click.echo("there is none yet: `vaultline sync` begins the first one")


@generation.command("plan")
@click.argument("model", required=False)
@click.option("--measure", is_flag=True, help="Embed a few texts to measure the time; a hosted model is paid for them.")
@json_option
def plan_migration(model: str | None, measure: bool, as_json: bool) -> None:
    """What going to MODEL (default: EMBEDDING_MODEL) would take: texts, tokens, money, minutes, disk."""
    from pipelines.embedding.cache import cached_embedder
    from pipelines.generations.plan import plan

    settings = Settings.load(**({"embedding_model": model} if model else {}))
    estimate = plan(_database(settings), settings, cached_embedder(settings.embedding_model, settings), measure=measure)
    if as_json:
        _print(estimate.to_json())
    else:
        click.echo(estimate.to_text())


@generation.command("build")
@click.option("--folder", "folders", multiple=True, help="Only this folder of the vault; may be repeated.")
@json_option
def build(folders: tuple[str, ...], as_json: bool) -> None:
    """Build the generation of EMBEDDING_MODEL now; also one that was rolled back or stopped before."""
    from pipelines.embedding.cache import cached_embedder
    from pipelines.generations import report
    from pipelines.generations.lifecycle import ensure_wanted
    from pipelines.storage import generation_states as states
    from pipelines.sync import build_generations

    settings = Settings.load()
    database = _database(settings)
    wanted = cached_embedder(settings.embedding_model, settings)
    ensure_wanted(database, wanted, asked=True)
    build_generations(settings, folders=folders)
    with database.connect() as connection:
        row = next(
            row
            for row in states.details(connection)
            if row.fingerprint == wanted.spec.fingerprint and row.state != "retired"
        )
    if as_json:
        _print(report.to_json(row))
    else:
        click.echo(report.to_text(row))


@generation.command("promote")
@click.argument("number", required=False, type=int)
@click.option("--override", metavar="REASON", help="Switch although the gate does not pass; the reason is recorded.")
@json_option
def promote(number: int | None, override: str | None, as_json: bool) -> None:
    """Ask the gate and let search read generation NUMBER (default: the one of EMBEDDING_MODEL)."""
    from pipelines.generations import promotion

    settings = Settings.load()
    database = _database(settings)
    done = promotion.promote(
        database, settings, _wanted(database, settings) if number is None else number, override=override
    )
    entered = done.switch.entered
    if as_json:
        left = done.switch.left
        _print(
            {
                "generation": entered.id,
                "model": entered.model,
                "left": left and left.id,
                "overridden": done.overridden,
                "switch_milliseconds": round(done.switch.seconds * 1000, 2),
                "gate": done.verdict.to_json(),
            }
        )
        return
    for check in done.verdict.checks:
        click.echo(f"{'passed' if check.passed else 'FAILED':<7} {check.name}: {check.detail}")
    click.echo(f"search reads generation {entered.id} ({entered.model}); `vaultline generation rollback` goes back")


@generation.command("rollback")
@click.argument("number", required=False, type=int)
@click.option("--allow-lag", is_flag=True, help="Go back even if documents written since are missing there.")
@json_option
def rollback(number: int | None, allow_lag: bool, as_json: bool) -> None:
    """Let search read the generation that was active before (or NUMBER) again, at once."""
    from pipelines.generations import promotion

    done = promotion.roll_back(_database(Settings.load()), number, allow_lag=allow_lag)
    left, entered = done.left, done.entered
    if as_json:
        _print(
            {
                "generation": entered.id,
                "model": entered.model,
                "left": left and left.id,
                "switch_milliseconds": round(done.seconds * 1000, 2),
            }
        )
        return
    click.echo(f"search reads generation {entered.id} ({entered.model}) again")
    if left is not None:
        click.echo(
            f"generation {left.id} ({left.model}) is held: it is not promoted by itself, also while EMBEDDING_MODEL "
            f"names it; `vaultline generation promote {left.id}` goes forward again"
        )


@generation.command("retire")
@click.argument("number", type=int)
@json_option
def retire(number: int, as_json: bool) -> None:
    """Drop generation NUMBER and say what space it took."""
    from pipelines.generations import promotion
    from pipelines.storage import generation_states as states

    database = _database(Settings.load())
    done = promotion.retire(database, number)
    with database.connect() as connection:
        cached = states.cache_bytes(connection, done.generation.fingerprint)
    if as_json:
        _print(
            {
                "generation": number,
                "model": done.generation.model,
                "chunks": done.chunks,
                "freed_bytes": done.bytes,
                "cache_bytes": cached,
            }
        )
        return
    click.echo(f"generation {number} ({done.generation.model}) is retired: {done.bytes / 1e6:.1f} MB are free again")
    if cached:
        click.echo(f"its vectors ({cached / 1e6:.1f} MB) stay for EMBEDDING_CACHE_DAYS, in case it is built again")


def _wanted(database: "Database", settings: Settings) -> int:
    from pipelines.embedding.cache import cached_embedder
    from pipelines.errors import GenerationNotFound
    from pipelines.storage import generations

    fingerprint = cached_embedder(settings.embedding_model, settings).spec.fingerprint
    with database.connect() as connection:
        for item in generations.live_generations(connection):
            if item.fingerprint == fingerprint:
                return item.id
    raise GenerationNotFound(
        f"there is no generation of {settings.embedding_model}: `vaultline generation build` builds one"
    )


def _database(settings: Settings) -> "Database":
    from pipelines.storage.database import Database
    from pipelines.storage.migrations import migrate

    database = Database.from_settings(settings)
    migrate(database)
    return database


def _print(document: object) -> None:
    click.echo(json.dumps(document, ensure_ascii=False, default=str))
