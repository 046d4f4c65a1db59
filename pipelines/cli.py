"""The command line. Commands import what they need when they run, so that the quick ones stay quick."""

import contextlib
import gc
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

import pipelines
from pipelines.errors import VaultlineError
from pipelines.generation_commands import generation
from pipelines.search_commands import evaluate, search, unanswered
from pipelines.settings import Settings

_INTERRUPTED = 130


def main() -> None:
    """Run the command line: exit code 0 done, 1 failed, 2 wrong use, 3 done but something is quarantined."""
    # A command makes a million objects that live as long as it does: looking through them 1,400 times finds nothing.
    gc.set_threshold(50_000, 20, 100)
    try:
        code = commands.main(standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except click.exceptions.Exit as error:
        sys.exit(error.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except VaultlineError as error:
        click.echo(f"vaultline: {error}", err=True)
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        click.echo("vaultline: interrupted; what was done is kept, the next sync goes on from there", err=True)
        sys.exit(_INTERRUPTED)
    except BrokenPipeError:
        sys.exit(0)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(pipelines.__version__, prog_name="vaultline")
def commands() -> None:
    """Keep a folder of notes searchable, with citations, in PostgreSQL + pgvector."""


def _print_json(document: object) -> None:
    click.echo(json.dumps(document, ensure_ascii=False, default=str))


json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")


@commands.command()
@click.option("--vault", type=click.Path(path_type=Path), help="The folder of notes (default: VAULT_PATH).")
@click.option("--folder", "folders", multiple=True, help="Only this folder of the vault; may be repeated.")
@click.option("--dry-run", is_flag=True, help="Say what would be done.")
@click.option("--full", is_flag=True, help="Read every file again, whatever its size and date say.")
@click.option("--allow-deletes", is_flag=True, help="Delete even if most of the vault is gone.")
@json_option
def sync(
    vault: Path | None, folders: tuple[str, ...], dry_run: bool, full: bool, allow_deletes: bool, as_json: bool
) -> int:
    """Bring the index in line with the vault."""
    from pipelines.progress import progress
    from pipelines.sync import sync as run

    settings = Settings.load(**({"vault_path": vault} if vault else {}))
    with progress(settings, show=not as_json):
        report = run(settings, folders=folders, full=full, allow_deletes=allow_deletes, dry_run=dry_run)
    if as_json:
        _print_json(report.to_json())
        if report.notice:
            click.echo(report.notice, err=True)
        return report.exit_code
    click.echo(report.to_text(dry_run=dry_run))
    return report.exit_code


@commands.command()
@click.option("--vault", type=click.Path(path_type=Path), help="The folder of notes (default: VAULT_PATH).")
@json_option
def watch(vault: Path | None, as_json: bool) -> None:
    """Stay and sync on every save, until Ctrl-C.

    With --json: a line of JSON for every sync.
    """
    from pipelines.sync_report import SyncReport
    from pipelines.watch import watch as run

    def say(news: SyncReport | VaultlineError) -> None:
        if isinstance(news, VaultlineError):
            click.echo(f"vaultline: {news}; trying again", err=True)
        elif as_json:
            _print_json(news.to_json())
        else:
            click.echo(news.to_text())

    run(Settings.load(**({"vault_path": vault} if vault else {})), say=say)


@commands.command()
@json_option
def status(as_json: bool) -> None:
    """Coverage by folder and generation, what is pending, what failed."""
    from pipelines.status import read_status

    report = read_status(Settings.load())
    if as_json:
        _print_json(report.to_json())
    else:
        click.echo(report.to_text())


@commands.group()
def db() -> None:
    """The embedded PostgreSQL server of VAULTLINE_HOME."""


def _embedded(settings: Settings) -> Settings:
    if settings.database_url is not None:
        raise click.UsageError("DATABASE_URL names another server; `vaultline db` is for the embedded one")
    return settings


@db.command("start")
def db_start() -> None:
    """Start the server, if it does not run, and bring its schema up to date."""
    from pipelines.storage.database import Database
    from pipelines.storage.migrations import migrate

    database = Database.from_settings(_embedded(Settings.load()))
    applied = migrate(database)
    click.echo(f"running at {database.safe_url}" + (f", migrated: {', '.join(applied)}" if applied else ""))


@db.command("migrate")
def db_migrate() -> None:
    """Bring the schema up to date, of DATABASE_URL's server or of the embedded one."""
    from pipelines.storage.database import Database
    from pipelines.storage.migrations import migrate

    database = Database.from_settings(Settings.load())
    applied = migrate(database)
    click.echo(f"{database.safe_url}: {', '.join(applied) or 'up to date'}")


@db.command("stop")
def db_stop() -> None:
    """Stop the server."""
    from pipelines.storage import server

    settings = _embedded(Settings.load())
    click.echo("stopped" if server.stop(settings.vaultline_home) else "was not running")


@db.command("status")
@json_option
def db_status(as_json: bool) -> None:
    """Say whether the server runs, and where."""
    from pipelines.storage import server

    found = server.status(_embedded(Settings.load()).vaultline_home)
    if as_json:
        _print_json({"running": found.running, "pid": found.pid, "url": found.url, "data": str(found.data)})
    else:
        click.echo(
            f"running (pid {found.pid}) in {found.data}" if found.running else f"not running; data: {found.data}"
        )


@db.command("url")
def db_url() -> None:
    """Print the server's address, for psql and other tools."""
    from pipelines.storage.database import Database

    click.echo(Database.from_settings(_embedded(Settings.load())).url)


@commands.group()
def quarantine() -> None:
    """Documents that could not be processed."""


@quarantine.command("list")
@json_option
def quarantine_list(as_json: bool) -> None:
    """List them with the reasons."""
    from pipelines.storage import documents

    with _connection() as connection:
        rows = documents.quarantined(connection)
    if as_json:
        _print_json([{**row, "since": row["since"].isoformat()} for row in rows])
        return
    for row in rows:
        click.echo(f"{row['source']}  [{row['stage']}, since {row['since']:%Y-%m-%d %H:%M}]\n    {row['reason']}")
    if not rows:
        click.echo("nothing is in quarantine")


@quarantine.command("retry")
@click.argument("sources", nargs=-1)
def quarantine_retry(sources: tuple[str, ...]) -> None:
    """Try all of them, or SOURCES, again at the next sync."""
    from pipelines.storage import documents

    with _connection() as connection:
        released = documents.retry_quarantined(connection, sources or None)
    click.echo(f"{len(released)} documents are tried again at the next sync")


@contextlib.contextmanager
def _connection() -> Iterator[Any]:
    from pipelines.storage.database import Database
    from pipelines.storage.migrations import migrate

    database = Database.from_settings(Settings.load())
    migrate(database)
    with database.connect() as connection:
        yield connection


@commands.command()
@click.argument("source")
@json_option
def show(source: str, as_json: bool) -> None:
    """What is stored of one document: state, dates, pages, warnings, links and backlinks."""
    import unicodedata

    from pipelines.storage import reports

    with _connection() as connection:
        found = reports.describe_source(connection, unicodedata.normalize("NFC", source))
    if found is None:
        raise click.UsageError(f"no document {source}: give its path relative to the vault, as citations show it")
    if as_json:
        _print_json({**found, "modified_at": found["modified_at"].isoformat()})
        return
    for name, value in found.items():
        if value not in (None, [], {}, ""):
            click.echo(f"{name:<14} {', '.join(map(str, value)) if isinstance(value, list) else value}")


@commands.command()
@json_option
def doctor(as_json: bool) -> int:
    """Check what is installed, reachable, misconfigured or stale."""
    from pipelines.doctor import examine

    findings = examine(Settings.load())
    if as_json:
        _print_json([finding.to_json() for finding in findings])
    else:
        for finding in findings:
            click.echo(finding.to_text())
    return 1 if any(finding.level == "error" for finding in findings) else 0


@commands.command()
def env() -> None:
    """Print `export` lines that let Dagster's own commands use this machine's records: eval "$(vaultline env)"."""
    import shlex

    from pipelines.dagster_home import dagster_home

    settings = Settings.load()
    click.echo(f"export DAGSTER_HOME={shlex.quote(str(dagster_home(settings)))}")
    click.echo(f"export VAULTLINE_HOME={shlex.quote(str(settings.vaultline_home.absolute()))}")


@commands.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; others need SERVING_TOKEN.")
@click.option("--port", default=8321, show_default=True, type=click.IntRange(1, 65535))
def serve(host: str, port: int) -> None:
    """Answer over HTTP, with the web page at / and MCP at /mcp."""
    from pipelines.serving.http_server import serve as run

    run(Settings.load(), host=host, port=port)


@commands.command()
@click.option(
    "--http", is_flag=True, help="Over HTTP at /mcp, as `vaultline serve` does, and not over stdin and stdout."
)
@click.option("--port", default=8321, show_default=True, type=click.IntRange(1, 65535), help="With --http.")
def mcp(http: bool, port: int) -> None:
    """Answer agents by the Model Context Protocol, over stdin and stdout."""
    if http:
        from pipelines.serving.http_server import serve as run

        run(Settings.load(), port=port)
        return
    from pipelines.serving.stdio import serve_stdio, take_stdout

    serve_stdio(take_stdout())


for _command in (generation, search, evaluate, unanswered):
    commands.add_command(_command)


if __name__ == "__main__":
    main()
