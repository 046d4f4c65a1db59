"""How fast documents are parsed on one core: MB of source a second, and what dominates.

    python -m benchmarks.parse_speed FOLDER [--repeat N] [--profile]

The last line is JSON. `markdown-it` is the library alone on the same notes, to compare machines.
"""

import argparse
import cProfile
import json
import pstats
import time
from collections.abc import Callable
from pathlib import Path

from markdown_it import MarkdownIt

from pipelines.parsing.cleaning import clean
from pipelines.parsing.document import MediaType
from pipelines.parsing.encoding import decode
from pipelines.parsing.note import parse_note
from pipelines.parsing.options import ParseOptions
from pipelines.parsing.parser import media_type_of, parse

Files = list[tuple[bytes, MediaType]]


def read(folder: Path) -> Files:
    """Every Markdown, text and canvas file below a folder; PDFs have their own figures."""
    found = ((path, media_type_of(path.name)) for path in sorted(folder.rglob("*")) if path.is_file())
    return [(path.read_bytes(), media_type) for path, media_type in found if media_type not in (None, "pdf")]


def seconds(work: Callable[[], object], repeat: int) -> float:
    """The best of some runs, in seconds of this process's own time."""
    best = float("inf")
    for _ in range(repeat):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--repeat", type=int, default=2)
    arguments.add_argument("--profile", action="store_true")
    chosen = arguments.parse_args()
    files = read(chosen.folder)
    megabytes = sum(len(data) for data, _ in files) / 1e6
    options = ParseOptions()

    def everything() -> None:
        for data, media_type in files:
            parse(data, media_type=media_type, options=options)

    everything()  # what is built once a process
    notes = [decode(data).text for data, media_type in files if media_type == "markdown"]
    documents = [parse_note(text, options=options) for text in notes]
    library = MarkdownIt("commonmark").enable("table")
    figures = {
        "files": len(files),
        "megabytes": round(megabytes, 2),
        "parse MB/s": round(megabytes / seconds(everything, chosen.repeat), 2),
        "markdown-it alone MB/s": round(
            megabytes / seconds(lambda: [library.parse(t) for t in notes], chosen.repeat), 2
        ),
        "seconds": {
            "decode": round(seconds(lambda: [decode(data) for data, _ in files], chosen.repeat), 2),
            "note": round(seconds(lambda: [parse_note(t, options=options) for t in notes], chosen.repeat), 2),
            "clean": round(seconds(lambda: [clean(one, options=options) for one in documents], chosen.repeat), 2),
        },
    }
    if chosen.profile:
        profile = cProfile.Profile()
        profile.runcall(everything)
        pstats.Stats(profile).sort_stats("tottime").print_stats(25)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
