"""Which generations there are: a first one, and one for every model that is wanted."""

from pipelines.embedding.canary import canary_vector
from pipelines.embedding.protocol import Embedder
from pipelines.storage import generations
from pipelines.storage.database import Database
from pipelines.storage.generations import Generation
from pipelines.storage.knowledge_index import ensure_indexes


def ensure_wanted(database: Database, wanted: Embedder) -> list[Generation]:
    """Live generations, after adding a building one if the wanted model has none."""
    with database.connect() as connection:
        live = generations.live_generations(connection)
        if any(generation.fingerprint == wanted.spec.fingerprint for generation in live):
            return live
    canary = canary_vector(wanted)
    with database.connect() as connection:
        generations.take_switch_lock(connection)  # two runs at once must not both add it
        live = generations.live_generations(connection)
        if not any(generation.fingerprint == wanted.spec.fingerprint for generation in live):
            generations.add_generation(connection, spec=wanted.spec, address=wanted.address, canary=canary)
            live = generations.live_generations(connection)
        return live


def activate_first(database: Database) -> Generation | None:
    """Make the first generation active once it is complete; returns it if that happened now."""
    with database.connect() as connection:
        live = generations.live_generations(connection)
        building = next((generation for generation in live if generation.state == "building"), None)
        if building is None or any(generation.state == "active" for generation in live):
            return None
        ensure_indexes(connection, building)
    with database.connect() as connection:
        generations.take_switch_lock(connection)
        if generations.active_generation(connection) or generations.gaps(connection, building) != (0, 0):
            return None
        generations.activate(connection, building)
        return building
