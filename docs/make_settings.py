"""Write docs/settings.md from the comments in pipelines/settings.py: `python docs/make_settings.py`."""

import re
from pathlib import Path

from pydantic import SecretStr

from pipelines.settings import Settings

HERE = Path(__file__).resolve().parent
SECTION = re.compile(r"^    # -- (.+)$")
FIELD = re.compile(r"^    (?P<name>[a-z_]+): (?P<type>.+?)(?: = (?P<default>.+?))?(?:  # (?P<comment>.+))?$")
HEAD = """\
# Settings

From the environment, else from `.env` in the working folder, else the default. An empty variable counts as unset. A
value that is not allowed is refused with its name and what is allowed. This page is made from `pipelines/settings.py`
by `python docs/make_settings.py`.
"""


def page() -> str:
    """The whole page."""
    lines = [HEAD]
    source = (HERE.parent / "pipelines" / "settings.py").read_text(encoding="utf-8")
    for line in source.splitlines():
        if section := SECTION.match(line):
            lines += [
                f"\n## {section[1].partition(':')[0].strip().capitalize()}\n",
                "| variable | default | |",
                "|---|---|---|",
            ]
        elif (field := FIELD.match(line)) and field["name"] in Settings.model_fields:
            lines.append(f"| `{field['name'].upper()}` | {default(field['name'])} | {field['comment'] or ''} |")
    return "\n".join(lines) + "\n"


def default(name: str) -> str:
    """A field's default as one would write it in `.env`."""
    field = Settings.model_fields[name]
    if field.default_factory is not None:
        return "the platform's user data folder"
    value = field.default
    if value is None or isinstance(value, SecretStr):
        return ""
    if isinstance(value, tuple):
        return f"`{','.join(value)}`" if value else ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


if __name__ == "__main__":
    (HERE / "settings.md").write_text(page(), encoding="utf-8")
