"""Random operations on a vault: what people, editors, sync programs and git do to their files."""

import os
import random

from pipelines.errors import UsageError
from tests.integration.sync.living_vault import LivingVault, long_note, note

FOLDERS = ("", "a/", "b/", "a/deep/", "Ideas/", "con, coma/")
NAMES = ("uno", "dos", "Tres", "año", "e\u0301tape", "it's")
BROKEN_PDF = b"%PDF-1.7\nnothing of it is true\n"
WORDS = ("faro", "costa", "barco", "puerto", "viento", "niebla", "marea", "boya", "lamp", "light", "harbour", "fog")


class Life:
    """Random operations on a vault; each says what it did, for the message of a failure."""

    def __init__(self, vault: LivingVault, seed: int) -> None:
        self.vault = vault
        self.random = random.Random(seed)
        self.done: list[str] = []
        self.old: dict[str, bytes] = {}
        self.operations = [getattr(self, name) for name in sorted(dir(self)) if name.startswith("op_")]

    def step(self) -> None:
        operation = self.random.choice(self.operations)
        if (what := operation()) is not None:
            self.done.append(f"{operation.__name__[3:]} {what}")

    def _files(self, ending: str = ".md") -> list[str]:
        return sorted(
            str(path.relative_to(self.vault.root))
            for path in self.vault.root.rglob(f"*{ending}")
            if path.is_file() and not path.name.startswith(".")
        )

    def _pick(self, ending: str = ".md") -> str | None:
        files = self._files(ending)
        return self.random.choice(files) if files else None

    def _new_name(self) -> str:
        return f"{self.random.choice(FOLDERS)}{self.random.choice(NAMES)}{self.random.randrange(4)}.md"

    def _text(self) -> str:
        words = " ".join(self.random.choices(WORDS, k=self.random.randrange(3, 30)))
        body = note(words[:20].title(), words, f"See [[{self.random.choice(NAMES)}{self.random.randrange(4)}]].")
        if self.random.random() < 0.3:
            body = long_note("Largo", self.random.randrange(2, 5), seed=str(self.random.randrange(3)))
        if self.random.random() < 0.3:
            body = (
                f"---\ntags: [{self.random.choice(WORDS)}]\ndate: 2024-0{self.random.randrange(1, 9)}-01\n---\n{body}"
            )
        return body

    def op_create(self) -> str:
        source = self._new_name()
        self.vault.write(source, self._text())
        return source

    op_create_more = op_create

    def op_edit(self) -> str | None:
        if (source := self._pick()) is None:
            return None
        self.old[source] = self.vault.path(source).read_bytes()
        self.vault.write(source, self._text())
        return source

    def op_append(self) -> str | None:
        if (source := self._pick()) is None:
            return None
        with self.vault.path(source).open("a") as file:
            file.write(f"\n\n## More\n\n{' '.join(self.random.choices(WORDS, k=9))}\n")
        return source

    def op_empty(self) -> str | None:
        if (source := self._pick()) is not None:
            self.vault.write(source, "")
        return source

    def op_rename(self) -> str | None:
        source, target = self._pick(), self._new_name()
        if source is None or self.vault.path(target).exists():
            return None
        self.vault.move(source, target)
        return f"{source} -> {target}"

    op_move = op_rename

    def op_rename_case(self) -> str | None:
        if (source := self._pick()) is None:
            return None
        folder, _, name = source.rpartition("/")
        target = f"{folder}/{name.swapcase()}".removesuffix(".MD") if folder else name.swapcase().removesuffix(".MD")
        if self.vault.path(f"{target}.md").exists():
            return None
        self.vault.move(source, f"{target}.md")
        return source

    def op_rename_folder(self) -> str | None:
        for old, new in (("a", "A"), ("A", "a"), ("Ideas", "ideas"), ("ideas", "Ideas")):
            if self.vault.path(old).is_dir() and not self.vault.path(new).exists() and self.random.random() < 0.5:
                self.vault.move(old, new)
                return f"{old} -> {new}"
        return None

    def op_swap(self) -> str | None:
        one, two = self._pick(), self._pick()
        if one is None or two is None or one == two:
            return None
        self.vault.move(one, "swap.tmp")
        self.vault.move(two, one)
        self.vault.move("swap.tmp", two)
        return f"{one} <-> {two}"

    def op_delete(self) -> str | None:
        if (source := self._pick()) is not None:
            self.old[source] = self.vault.path(source).read_bytes()
            self.vault.remove(source)
        return source

    def op_restore(self) -> str | None:
        if not self.old:
            return None
        source = self.random.choice(sorted(self.old))
        self.vault.write(source, self.old[source])
        return source

    def op_touch(self) -> str | None:
        if (source := self._pick()) is not None:
            os.utime(self.vault.path(source))
        return source

    def op_duplicate(self) -> str | None:
        source, target = self._pick(), self._new_name()
        if source is not None:
            self.vault.write(target, self.vault.path(source).read_bytes())
        return f"{source} = {target}"

    def op_ignore(self) -> str:
        rules = self.random.choice(["", "a/\n", "b/\n*1.md\n", "deep/\n", "Tres*\n"])
        self.vault.write(".vaultignore", rules)
        return repr(rules)

    def op_rag(self) -> str | None:
        if (source := self._pick()) is None:
            return None
        data = self.vault.path(source).read_bytes()
        hidden = b"---\nrag: false\n---\n"
        self.vault.write(source, data.removeprefix(hidden) if data.startswith(hidden) else hidden + data)
        return source

    def op_break(self) -> str | None:
        if (source := self._pick()) is None:
            return None
        self.old[source] = self.vault.path(source).read_bytes()
        self.vault.write(source, b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4)
        return source

    def op_pdf(self) -> str:
        """Broken and repaired: the repair is a note of the same name but for its ending, real PDFs are slow."""
        source = f"{self.random.choice(FOLDERS)}informe.pdf"
        if self.vault.path(source).exists():
            self.vault.remove(source)
        else:
            self.vault.write(source, BROKEN_PDF)
        return source

    def op_pipe(self) -> str:
        path = self.vault.path("pipe.md")
        path.unlink() if path.exists() else os.mkfifo(path)
        return "pipe.md"

    def op_sync(self) -> str:
        self.vault.sync(allow_deletes=True)
        return "all"

    op_sync_again = op_sync

    def op_sync_folder(self) -> str | None:
        folders = sorted(path.name for path in self.vault.root.iterdir() if path.is_dir())
        if not folders:
            return None
        folder = self.random.choice(folders)
        try:
            self.vault.sync(folders=[folder], allow_deletes=True)
        except UsageError:
            return None  # it holds nothing that takes part
        return folder
