"""The process that indexes uploads beside a server: `python -m pipelines.upload_worker`, started by serving.indexer.

It stays for as long as its standard input is open, with Dagster and the model loaded. A line there asks for a sync of
the uploads, a line of JSON on standard output says how that ended.
"""

import json
import os
import sys

from pipelines.errors import VaultlineError
from pipelines.settings import Settings
from pipelines.sync import sync
from pipelines.vault.folders import UPLOADS


def main() -> None:
    """Answer every line until there are no more."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)  # what libraries print is no answer
    settings = Settings.load()
    for _ in sys.stdin:
        try:
            sync(settings, folders=[UPLOADS])
        except VaultlineError as error:
            print(json.dumps({"done": False, "reason": str(error)}), file=answers)
        else:
            print(json.dumps({"done": True}), file=answers)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
