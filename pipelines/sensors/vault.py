"""vault: starts runs for what changed in the folder of notes, some seconds after the save."""

import json
import time

import dagster as dg

from pipelines.errors import VaultlineError
from pipelines.intake.look import Part
from pipelines.jobs import INDEX
from pipelines.resources.store import Store
from pipelines.sensors.indexing import find_need, keep_partitions, reasons, requests

_INTERVAL = 2  # seconds: less than the 5 of the daemon's own loop, which would else leave out every other turn


@dg.sensor(
    name="vault",
    job=INDEX,
    minimum_interval_seconds=_INTERVAL,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Compares the vault's files and the uploads with the tables and starts runs for folders that differ.",
)
def vault(context: dg.SensorEvaluationContext, store: dg.ResourceParam[Store]) -> dg.SensorResult | dg.SkipReason:
    part: Part = "uploads" if store.keeps_clone else "all"  # the sensor `git` looks after a git remote's clone
    since = _changing_since(context.cursor)
    try:
        with store.database.connect(autocommit=True) as connection:
            quiet = store.settings.vault_quiet_seconds
            need = find_need(store, context.instance, connection, quiet=quiet, changing_since=since, part=part)
            if part == "all":
                keep_partitions(context.instance, connection, need)
    except VaultlineError as error:
        return dg.SkipReason(str(error))
    loud = "still being written" in need.waiting.values()
    cursor = json.dumps({"changing_since": since or time.time()}) if loud else "{}"
    if need.folders:
        tags = {"vaultline/started_by": "vault sensor"}
        return dg.SensorResult(run_requests=requests(context.instance, need.folders, tags), cursor=cursor)
    what = f"{len(need.seen.scan.files)} files"
    if part == "uploads":
        what = f"{len(need.seen.scan.files)} uploads; the vault is a clone: the sensor `git` looks after it"
    why = reasons(need.waiting) or f"nothing has changed in {what}"
    return dg.SensorResult(skip_reason=why, cursor=cursor)


def _changing_since(cursor: str | None) -> float | None:
    try:
        since = json.loads(cursor or "{}").get("changing_since")
    except (ValueError, AttributeError):
        return None
    return float(since) if isinstance(since, int | float) else None
