"""The house's rules, read from the imports: arrows point one way, heavy libraries are imported where they are used."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "pipelines"

ORDER = (
    ("errors",),
    ("settings", "figures"),
    ("vault", "parsing", "chunking", "embedding"),
    ("storage",),
    ("recipe", "progress", "dagster_home"),
    ("model_identity",),
    ("retrieval",),
    ("generations", "assistant"),
    ("resources",),
    ("intake", "partitions", "generation_jobs", "run_process", "warm_up"),
    ("assets", "jobs", "upkeep_job"),
    ("sensors", "checks", "schedules"),
    ("definitions",),
    ("sync_report",),
    ("sync", "serving", "status", "doctor", "watch"),
    ("generation_commands", "search_commands", "upload_worker"),
    ("cli",),
)
"""From the ground up: a module imports from its own row or from below."""

DOMAIN = ("vault", "parsing", "chunking", "embedding", "storage", "retrieval", "generations", "assistant", "intake")
APART = ("vault", "parsing", "chunking", "embedding")
MAY = {("chunking", "parsing.document")}
"""What stages that do not import each other may share: a seam."""

HEAVY = frozenset(
    {"torch", "openvino", "pymupdf", "sentence_transformers", "transformers", "tokenizers", "rapidocr", "onnxruntime"}
    | {"cv2", "py3langid", "pandas", "voyageai", "detect_secrets", "playwright", "watchfiles"}
    | {"pydantic_ai", "openai", "anthropic"}
)
DRIVERS = frozenset({"psycopg", "psycopg2", "psycopg_pool", "pgvector", "yoyo", "sqlalchemy"})


def _modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def _name(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def _imports(path: Path, *, only_at_load: bool = False) -> Iterator[tuple[str, int]]:
    """(module, line) of every import; `only_at_load` leaves out functions and what only a type checker sees."""
    todo: list[ast.AST] = [ast.parse(path.read_text())]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: imports here are absolute"
            if node.module == "pipelines":
                yield from ((f"pipelines.{alias.name}", node.lineno) for alias in node.names)
            else:
                yield str(node.module), node.lineno
        elif only_at_load and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        elif only_at_load and isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            todo.extend(node.orelse)
            continue
        todo.extend(ast.iter_child_nodes(node))


def _own(module: str) -> str | None:
    return module.removeprefix("pipelines.") if module.startswith("pipelines.") else None


def test_every_module_has_a_place() -> None:
    placed = {name for row in ORDER for name in row}
    homeless = {_name(path).split(".")[0] for path in _modules()} - {"__init__", ""} - placed
    assert not homeless, f"give {homeless} a row in ORDER"


def test_arrows_point_one_way() -> None:
    level = {name: number for number, row in enumerate(ORDER) for name in row}
    wrong = []
    for path in _modules():
        me = _name(path).split(".")[0]
        for module, line in _imports(path):
            other = (_own(module) or me).split(".")[0]
            if me in level and other != me and level.get(other, -1) > level[me]:
                wrong.append(f"{path.name}:{line}: {me} imports {module}")
    assert not wrong, "\n".join(wrong)


def test_no_module_needs_itself_to_load() -> None:
    """Rows are coarse; modules that import each other while they load would fail in one order and work in another."""
    graph = {
        f"pipelines.{_name(path)}": {module for module, _ in _imports(path, only_at_load=True)} for path in _modules()
    }

    def reaches(module: str, seen: frozenset[str]) -> list[str]:
        for other in sorted(graph.get(module, ())):
            if other in seen:
                return [module, other]
            if other in graph and other not in done and (found := reaches(other, seen | {other})):
                return [module, *found]
        done.add(module)
        return []

    done: set[str] = set()
    for module in sorted(graph):
        assert not (circle := reaches(module, frozenset({module}))), " -> ".join(circle)


def test_domain_packages_import_no_dagster() -> None:
    wrong = [
        f"{path}:{line}"
        for path in _modules()
        if _name(path).split(".")[0] in DOMAIN
        for module, line in _imports(path)
        if module.split(".")[0].startswith("dagster")
    ]
    assert not wrong, wrong


def test_only_storage_talks_to_the_database() -> None:
    wrong = [
        f"{path}:{line} imports {module}"
        for path in _modules()
        if _name(path).split(".")[0] != "storage"
        for module, line in _imports(path)
        if module.split(".")[0] in DRIVERS
    ]
    assert not wrong, wrong


def test_the_stages_do_not_know_each_other() -> None:
    wrong = []
    for path in _modules():
        me = _name(path).split(".")[0]
        for module, line in _imports(path):
            other = _own(module)
            strange = other is not None and other.split(".")[0] in APART and other.split(".")[0] != me
            if me in APART and strange and (me, other) not in MAY:
                wrong.append(f"{path}:{line}: {me} imports {module}")
    assert not wrong, wrong


def test_heavy_libraries_are_imported_where_they_are_used() -> None:
    wrong = [
        f"{path}:{line} imports {module}"
        for path in _modules()
        for module, line in _imports(path, only_at_load=True)
        if module.split(".")[0] in HEAVY
    ]
    assert not wrong, wrong


def test_annotations_are_not_postponed() -> None:
    """Dagster reads them when an asset is defined."""
    assert not [path for path in _modules() if any(module == "__future__" for module, _ in _imports(path))]


def _loaded(code: str, names: set[str]) -> set[str]:
    """Which of the top-level packages are in memory after running some code in a fresh process."""
    show = f"import sys; print(*sorted({names!r} & {{name.split('.')[0] for name in sys.modules}}), sep=chr(10))"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", f"{code}\n{show}"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


@pytest.mark.parametrize("module", ["pipelines.definitions", "pipelines.cli", "pipelines.sync"])
def test_loading_the_front_doors_loads_nothing_heavy(module: str) -> None:
    heavy = {"torch", "openvino", "pymupdf", "sentence_transformers", "transformers", "rapidocr", "cv2", "onnxruntime"}
    heavy |= {"pydantic_ai", "openai", "anthropic"}
    assert _loaded(f"import {module}", heavy) == set()


def test_the_command_line_alone_loads_no_database_and_no_dagster() -> None:
    assert _loaded("import pipelines.cli", {"dagster", "psycopg", "numpy", "pandas"}) == set()


def test_modules_are_of_a_size_that_can_be_read() -> None:
    lines = {str(path): path.read_text().count("\n") for path in _modules()}
    assert not {path: count for path, count in lines.items() if count > 400}
