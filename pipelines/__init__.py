"""Vaultline: from a team's folder of notes to cited, searchable passages in PostgreSQL."""

import os

__version__ = "0.1.0"

# By default nothing leaves the machine. These libraries report usage, or write a device id to do so, unless told not to
# before they are imported.
for _switch in ("DO_NOT_TRACK", "HF_HUB_DISABLE_TELEMETRY", "ORT_DISABLE_TELEMETRY", "DAGSTER_DISABLE_TELEMETRY"):
    os.environ.setdefault(_switch, "1")
