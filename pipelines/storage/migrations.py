"""The schema: `sql/migrations/NNNN_name.sql`, forward only, applied by yoyo."""

from contextlib import ExitStack
from importlib.resources import as_file

from psycopg.conninfo import conninfo_to_dict

from pipelines.errors import SchemaMismatch
from pipelines.storage.database import Connection, Database, check_server
from pipelines.storage.queries import sql_folder

_LOCK = 0x5661756C74  # "Vault": serialises migrations of one database


def migrate(database: Database) -> list[str]:
    """Bring the schema up to this code's version; returns the migrations applied now.

    Safe from several processes at once: an advisory lock lets one work and the others find nothing to do.
    Raises SchemaMismatch if the schema is newer than the code, DatabaseUnsupported if the server is too old.
    """
    with database.connect(autocommit=True) as connection:
        wanted, applied = _wanted(), _applied(connection)
        if wanted == applied:
            return []
        check_server(connection, database.safe_url)
        connection.execute("SELECT pg_advisory_lock(%s)", (_LOCK,))
        try:
            applied = _applied(connection)
            unknown = [name for name in applied if name not in wanted]
            if unknown:
                raise SchemaMismatch(
                    f"the database at {database.safe_url} was made by a newer Vaultline (it has {unknown[-1]}): "
                    "update Vaultline"
                )
            pending = [name for name in wanted if name not in applied]
            if pending:
                _apply(database)
            return pending
        finally:
            connection.execute("SELECT pg_advisory_unlock(%s)", (_LOCK,))


def _wanted() -> list[str]:
    names = (entry.name for entry in sql_folder().joinpath("migrations").iterdir())
    return sorted(name.removesuffix(".sql") for name in names if name.endswith(".sql"))


def _applied(connection: Connection) -> list[str]:
    if connection.execute("SELECT to_regclass('_yoyo_migration')").fetchone() == (None,):
        return []
    rows = connection.execute("SELECT migration_id FROM _yoyo_migration ORDER BY 1").fetchall()
    return [str(row[0]) for row in rows]


def _apply(database: Database) -> None:
    from yoyo import read_migrations
    from yoyo.backends import get_backend_class
    from yoyo.connections import DatabaseURI

    # Built from parts: a socket folder in `host` does not survive yoyo's own reading of a URL.
    parts = dict(conninfo_to_dict(database.url))
    uri = DatabaseURI(
        scheme="postgresql+psycopg",
        username=None,
        password=None,
        hostname=None,
        port=None,
        database=str(parts.pop("dbname", "")),
        args={key: str(value) for key, value in parts.items()},
    )
    with ExitStack() as stack:
        folder = stack.enter_context(as_file(sql_folder().joinpath("migrations")))
        backend = stack.enter_context(get_backend_class("postgresql+psycopg")(uri, "_yoyo_migration"))
        backend.init_database()
        backend.break_lock()  # ours is the advisory lock; a row left by a killed process must not block for ever
        migrations = read_migrations(str(folder))
        with backend.lock():
            backend.apply_migrations(backend.to_apply(migrations))
