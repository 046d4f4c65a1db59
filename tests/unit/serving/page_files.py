"""Where the page's files are."""

from pathlib import Path

STATIC = Path(__file__).resolve().parents[3] / "pipelines" / "serving" / "static"


def own_scripts() -> list[Path]:
    """Our modules; what others wrote is in vendor/."""
    return sorted(STATIC.glob("*.js"))


def own_files() -> list[Path]:
    """Our scripts, styles and markup."""
    return sorted(path for path in STATIC.iterdir() if path.is_file())
