"""Events of an upload from looks at the tables: in order, each once, none that is left open."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from pipelines.serving.upload_progress import STAGES, Progress
from pipelines.storage.uploads import UploadSteps

SOURCE, DIGEST = ".uploads/a.md", "d1"
NEW = UploadSteps(SOURCE, DIGEST, "pending", None, parsed=False, chunked=False, chunks=0, texts=0, embedded=0)
PARSED = replace(NEW, parsed=True)
CHUNKED = replace(PARSED, chunked=True, chunks=5, texts=4)
HALF = replace(CHUNKED, embedded=2)
EMBEDDED = replace(CHUNKED, embedded=4)
DONE = replace(EMBEDDED, state="indexed")


def events(*looks: UploadSteps | None) -> list[tuple[str, dict[str, object]]]:
    progress = Progress(SOURCE, DIGEST)
    return [event for look in looks for event in progress.events(look)]


def bars(*looks: UploadSteps | None) -> list[tuple[object, object, object]]:
    return [(data["stage"], data["done"], data["total"]) for name, data in events(*looks) if name == "progress"]


def test_every_step_is_told_once() -> None:
    assert bars(None, NEW, NEW, PARSED, CHUNKED, HALF, HALF, EMBEDDED, DONE) == [
        ("parse", 0, None),
        ("parse", 0, 1),
        ("parse", 1, 1),
        ("chunk", 0, None),
        ("chunk", 5, 5),
        ("embed", 0, 4),
        ("embed", 2, 4),
        ("embed", 4, 4),
        ("store", 0, 1),
        ("store", 1, 1),
    ]


def test_who_looks_late_is_told_everything() -> None:
    assert bars(DONE) == [("parse", 1, 1), ("chunk", 5, 5), ("embed", 4, 4), ("store", 1, 1)]
    assert events(DONE)[-1] == ("end", {"state": "indexed", "reason": None, "source": SOURCE})


def test_what_an_earlier_file_of_that_name_has_is_not_ours() -> None:
    assert bars(replace(DONE, content_hash="d0")) == [("parse", 0, None)]
    assert bars(replace(NEW, content_hash="d0", state="quarantined", reason="torn")) == [("parse", 0, None)]


def test_an_end_without_an_index() -> None:
    for state in ("quarantined", "excluded"):
        assert events(replace(PARSED, state=state, reason="why"))[-1] == (
            "end",
            {"state": state, "reason": "why", "source": SOURCE},
        )


LOOKS = st.lists(st.sampled_from([None, NEW, PARSED, CHUNKED, HALF, EMBEDDED]), max_size=12)


@given(LOOKS)
def test_whatever_is_seen_stages_are_in_order_and_complete(looks: list[UploadSteps | None]) -> None:
    """Also when a look sees less than the one before: a reader may ask a replica, or the row may be made anew."""
    found = bars(*looks, DONE)
    places = {stage: [index for index, bar in enumerate(found) if bar[0] == stage] for stage in STAGES}
    firsts = [places[stage][0] for stage in STAGES]
    assert firsts == sorted(firsts)
    for stage in STAGES:
        done = [bar[1] for bar in found if bar[0] == stage]
        assert done == sorted(done)  # type: ignore[type-var]
        _, last, total = found[places[stage][-1]]
        assert last == total
    assert len(found) == len(set(found))
