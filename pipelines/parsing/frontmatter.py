"""The block of metadata at the top of a note, in every shape that people and tools write it.

The splitting is our own because being wrong costs text: a rule at the top of a note is not metadata, a broken value
does not cost the others, and the body is there whatever the metadata looks like. Values are read as a person reads
them: dates and times stay as written, `no` is the word "no" (Norway), `08:30` is not a number.
"""

import json
import re
import tomllib
from dataclasses import dataclass, field
from typing import Any

import yaml

from pipelines.parsing.document import Json
from pipelines.parsing.json_values import storable

_LARGEST = 1_000_000  # characters between the marks; a larger block is no metadata
_DASHES = re.compile(r"-{3,}[ \t]*(json|yaml|toml)?[ \t]*\n")
_CLOSING = re.compile(r"^(?:-{3,}|\.\.\.)[ \t]*$", re.MULTILINE)
_CONFLICT = re.compile(r"^(?:<<<<<<<|=======|>>>>>>>)(?: .*)?$\n?", re.MULTILINE)
_KEY_LINE = re.compile(r"(?P<key>[^\W_][\w.\-/ ]{0,60}|\"[^\"]+\"|'[^']+')[ \t]*:(?:[ \t]+(?P<value>.*))?$")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_TOML_LINE = re.compile(r"\s*(?:[\w.\-\"]+\s*=\s*\S|\[|#|$)")

# Keys by which a block is metadata even where it looks like prose.
_KNOWN_KEYS = frozenset(
    str.split(
        "title titulo título tags tag aliases alias date created updated modified lang language locale idioma rag draft"
        " publish published anonymize author autor status estado cssclasses cssclass permalink description layout slug"
        " id type tipo category categories fecha"
    )
)


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """`properties` as JSON, the `body` that is left, how many lines of the file stand before it, and warnings."""

    properties: dict[str, Json] = field(default_factory=dict)
    body: str = ""
    lines_before: int = 0
    warnings: tuple[str, ...] = ()


def split_frontmatter(text: str) -> Frontmatter:
    """Separate the metadata of a note from its body; never raises, and never loses what could be body."""
    first = _first_block(text)
    if first is None:
        return Frontmatter({}, text)
    properties, end, warnings = first
    if end:  # a sync tool may have put its own block before the note's
        second = _dashed(text, _skip_blank(text, end), strict=True)
        if second is not None and second[1]:
            properties = {**second[0], **properties, **_joined_tags(properties, second[0])}
            warnings = [*warnings, *second[2], "two blocks of metadata at the top: both were read"]
            end = second[1]
    values, notes = storable(properties)
    return Frontmatter(values, text[end:], text.count("\n", 0, end), (*warnings, *notes))


Block = tuple[dict[str, Any], int, list[str]]
"""Properties, offset where the body begins (0: the block stays in the body), warnings."""


def _first_block(text: str) -> Block | None:
    if text.startswith("---"):
        return _dashed(text, 0, strict=False)
    if text.startswith(("+++\n", ";;;\n", "{")):
        return _hugo(text)
    if text[:1].isspace() and text.lstrip().startswith("---"):
        return _dashed(text, _skip_blank(text, 0), strict=True)
    return None


def _skip_blank(text: str, start: int) -> int:
    while (end := text.find("\n", start)) >= 0 and not text[start:end].strip():
        start = end + 1
    return start


def _dashed(text: str, start: int, *, strict: bool) -> Block | None:
    """The block between lines of dashes that opens at `start`; None: it is body. `strict`: only what is surely none."""
    opening = _DASHES.match(text, start)
    if not opening:
        return None
    closing = _CLOSING.search(text, opening.end())
    line = text.count("\n", 0, start) + 1
    if not closing:
        return None if strict else _unclosed(text, opening.end())
    inner = text[opening.end() : closing.start()]
    end = closing.end() + 1 if closing.end() < len(text) else closing.end()
    if len(inner) > _LARGEST:
        return {}, 0, [f"line {line}: metadata over {_LARGEST:,} characters was read as text"]
    warnings = []
    if _CONFLICT.search(inner):
        inner = _CONFLICT.sub("", inner)
        warnings.append(f"line {line}: the metadata holds the marks of an unfinished merge")
    if not inner.strip():
        return {}, end, warnings
    if inner.startswith("\n") and (strict or not _mentions_known_key(inner)):
        return None  # a rule, an empty line, a paragraph
    language = opening.group(1) or "yaml"
    values, problem = _read(inner, language)
    if values is None:
        if problem and _looks_like_metadata(inner):
            values = _salvage(inner)
            warnings.append(
                f"line {line + (problem[0] or 0)}: the metadata is not valid {language} ({problem[1]})"
                "; what could be read line by line was kept"
            )
        else:
            return (
                None
                if strict
                else ({}, 0, [f"line {line}: what stands between the marks is no metadata; it was read as text"])
            )
    if all(_prose_like(key, value) for key, value in values.items()):
        return None if strict else (values, 0, warnings)
    return values, end, warnings


def _read(inner: str, language: str) -> tuple[dict[Any, Any] | None, tuple[int | None, str] | None]:
    """Properties, or None and the problem (line within the block, in words) where there is one."""
    try:
        if language == "json":
            value = json.loads(inner)
        elif language == "toml" or (
            language == "yaml" and all(map(_TOML_LINE.match, inner.split("\n"))) and "=" in inner
        ):
            value = tomllib.loads(inner)
        else:
            value = yaml.load(inner, _Loader)
    except yaml.MarkedYAMLError as error:
        problem = _QUOTED.sub("...", str(error.problem))  # what it quotes is text of the note, and may be a secret
        return None, (error.problem_mark.line + 1 if error.problem_mark else None, problem)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return None, (None, type(error).__name__)
    if isinstance(value, dict):
        return value, None
    return None, None


def _hugo(text: str) -> Block | None:
    if text.startswith("{"):
        try:
            value, end = json.JSONDecoder().raw_decode(text)
        except (ValueError, RecursionError):
            return None
        following = text[end : end + 1]
        return (
            (value, end + len(following), [])
            if isinstance(value, dict) and following in ("\n", "") and text[end:].strip()
            else None
        )
    mark = text[:3]
    closing = text.find(f"\n{mark}", 3)
    if closing < 0:
        return None
    values, problem = _read(text[4 : closing + 1], "toml" if mark == "+++" else "json")
    if values is None:
        return (
            {},
            0,
            [f"line 1: the metadata is not valid ({problem[1] if problem else 'no table'}); it was read as text"],
        )
    end = text.find("\n", closing + 1)
    return values, len(text) if end < 0 else end + 1, []


def _unclosed(text: str, start: int) -> Block | None:
    """Metadata that is never closed: it counts (it may say that the note stays out), and it stays in the body."""
    lines = []
    for line in text[start : start + 5_000].split("\n"):
        if not line.strip() or not (_KEY_LINE.match(line) or line[:1] in " \t-"):
            break
        lines.append(line)
    values = _salvage("\n".join(lines))
    if not values or not any(key.lower() in _KNOWN_KEYS for key in values):
        return None
    return values, 0, ["line 1: the metadata is never closed; it was read, and stays in the text"]


def _looks_like_metadata(inner: str) -> bool:
    """Is most of a block that is not valid made of `key: value` lines, list items and nested lines?"""
    lines = [line for line in inner.split("\n") if line.strip() and not line.lstrip().startswith("#")]
    keys = [found.group("key") for line in lines if (found := _KEY_LINE.match(line))]
    nested = sum(line[:1] in " \t-" for line in lines)
    if any(key.lower().strip("\"'") in _KNOWN_KEYS for key in keys):
        return True
    return bool(keys) and not any(map(_prose_key, keys)) and len(keys) + nested > 0.6 * len(lines)


def _mentions_known_key(inner: str) -> bool:
    return any(
        (found := _KEY_LINE.match(line)) and found.group("key").lower() in _KNOWN_KEYS for line in inner.split("\n")
    )


def _prose_key(key: str) -> bool:
    return key[:1].isupper() and key.lower() not in _KNOWN_KEYS


def _prose_like(key: object, value: object) -> bool:
    """Would a person rather have written this as a sentence (`Reunión: con Ana`) than as a property?"""
    if not isinstance(key, str) or key.lower() in _KNOWN_KEYS:
        return False
    return key.count(" ") > 2 or (_prose_key(key) and isinstance(value, str) and " " in value.strip())


def _salvage(inner: str) -> dict[str, Any]:
    """Read a broken block line by line: each `key: value`, lists under a key, nothing deeper."""
    values: dict[str, Any] = {}
    key = None
    for line in inner.split("\n"):
        if found := _KEY_LINE.match(line):
            key = found.group("key").strip("\"'").strip()
            values[key] = _scalar(found.group("value") or "")
        elif key is not None and (item := re.match(r"\s*-\s+(.*)", line)):
            items = values[key] if isinstance(values[key], list) else []
            values[key] = [*items, _scalar(item.group(1))]
    return values


def _scalar(written: str) -> Any:
    """A single value: what YAML says where it can be read alone, otherwise the text itself."""
    try:
        value = yaml.load(written, _Loader)
    except (yaml.YAMLError, ValueError, RecursionError):
        return written.strip()
    return written.strip() if isinstance(value, dict) else value


def _joined_tags(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    both = {}
    for key in ("tags", "aliases"):
        if first.get(key) and second.get(key):
            lists = [value if isinstance(value, list) else [value] for value in (first[key], second[key])]
            both[key] = lists[0] + lists[1]
    return both


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML's safe loader with the types of YAML 1.2's core schema, and without an opinion on unknown tags."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[str, Any]:
        """Keys stay as written: as values `1` and `true` would be the same key."""
        self.flatten_mapping(node)
        return {
            key.value
            if isinstance(key, yaml.ScalarNode)
            else str(self.construct_object(key, deep=True)): self.construct_object(value, deep=deep)
            for key, value in node.value
        }


_Loader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?(?:0|[1-9][0-9]{0,17})", list("-+0123456789")),
    ("float", r"[-+]?(?:0|[1-9][0-9]*)(?:\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?", list("-+0123456789")),
    ("merge", r"<<", ["<"]),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"^(?:{_pattern})$"), _first)


def _any_tag(loader: Any, _suffix: str, node: yaml.Node) -> Any:
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node, deep=True)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    return loader.construct_scalar(node)


_Loader.add_multi_constructor("", _any_tag)
_Loader.add_multi_constructor("!", _any_tag)
