"""Parse and chunk a folder of Markdown on one core, and say what dominates.

    python -m benchmarks.chunk_speed [FOLDER] [--profile]

Rates are bytes of the files by CPU time, so that other work on the machine does not count; wall time is printed too.
"""

import argparse
import cProfile
import os
import pstats
import time
from pathlib import Path

from pipelines.chunking.chunker import ChunkOptions, chunk
from pipelines.chunking.tokens import load_chunk_tokenizer
from pipelines.parsing.options import ParseOptions
from pipelines.parsing.parser import parse

HANDBOOK = Path(__file__).resolve().parents[2] / "shared" / "data" / "handbook"


def main() -> None:
    """Print seconds, megabytes a second and the sizes of the chunks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=HANDBOOK)
    parser.add_argument("--profile", action="store_true", help="list the functions that take the most time in chunking")
    asked = parser.parse_args()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    files = [path.read_bytes() for path in sorted(asked.folder.rglob("*.md"))]
    size = sum(map(len, files)) / 1e6
    parse(b"# warm", media_type="markdown", options=ParseOptions())  # imports are not parsing
    wall, started = time.perf_counter(), time.process_time()
    documents = [parse(data, media_type="markdown", options=ParseOptions()) for data in files]
    parsed = time.process_time()
    profile = cProfile.Profile()
    if asked.profile:
        profile.enable()
    tokenizer, options = load_chunk_tokenizer(), ChunkOptions()
    chunks = [one for each in documents for one in chunk(each, options=options, count_tokens=tokenizer.count)]
    profile.disable()
    ended, wall = time.process_time(), time.perf_counter() - wall
    for name, seconds in (("parse", parsed - started), ("chunk", ended - parsed), ("both", ended - started)):
        print(f"{name:6} {seconds:6.2f} s CPU  {size / seconds:6.2f} MB/s")
    tokens = sorted(one.tokens for one in chunks)
    print(
        f"{len(files)} notes, {size:.1f} MB, {wall:.2f} s wall, {len(chunks)} chunks of {tokens[-1]} tokens at most, "
    )
    print(f"mean {sum(tokens) / len(tokens):.0f}, median {tokens[len(tokens) // 2]}, tenth {tokens[len(tokens) // 10]}")
    if asked.profile:
        pstats.Stats(profile).sort_stats("tottime").print_stats(12)


if __name__ == "__main__":
    main()
