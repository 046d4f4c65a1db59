"""Settings, vault and database of a run, opened when they are first needed."""

import os
from functools import cached_property
from pathlib import Path

from pipelines.errors import VaultUnavailable
from pipelines.generations.budget import Budget
from pipelines.recipe import Recipe
from pipelines.settings import Settings
from pipelines.storage import texts
from pipelines.storage.database import Database
from pipelines.storage.migrations import migrate
from pipelines.vault import git_clone, roots
from pipelines.vault.uploads import PREFIX

COMMIT_DONE = "commit_done"
"""Fact: the last commit of the git remote that the tables held completely."""

_GIT_SECONDS = 1_800.0  # of a first clone, where nothing else waits


class Store:
    """One vault, one database, one recipe: what every stage of a run agrees on."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    @cached_property
    def database(self) -> Database:
        """The database, started and migrated."""
        database = Database.from_settings(self.settings)
        migrate(database)
        return database

    @property
    def recipe(self) -> Recipe:
        """Options and fingerprints of the text stages.

        Where embeds are put in place, a note's text depends on other notes, and so does what is wanted of it: then this
        asks the database, and any change of any note has every note parsed (not embedded) again.
        """
        recipe = self._recipe
        if not recipe.parsing.resolve_embeds:
            return recipe
        with self.database.connect() as connection:
            return recipe.beside(texts.notes_digest(connection))

    @cached_property
    def _recipe(self) -> Recipe:
        return Recipe.from_settings(self.settings)

    @cached_property
    def budget(self) -> Budget:
        """What may be spent, over all runs that share this store: those of one sync, or one run of Dagster's."""
        settings = self.settings
        return Budget(max_cost=settings.embedding_max_cost, max_tokens=settings.embedding_max_run_tokens)

    @property
    def keeps_clone(self) -> bool:
        """True when the vault is a clone that Vaultline keeps: VAULT_GIT_URL is set and VAULT_PATH is not."""
        return roots.keeps_clone(self.settings)

    def update_clone(self, *, timeout: float = _GIT_SECONDS) -> git_clone.GitUpdate | None:
        """Bring the clone to what the remote has; None if the vault is no such clone.

        `timeout` is in seconds, for each conversation with the remote. Raises what `git_clone.update` raises.
        """
        url = self.settings.vault_git_url
        if url is None or not self.keeps_clone:
            return None
        return git_clone.update(url.get_secret_value(), self.settings.vault_git_branch, self._clone, timeout=timeout)

    @property
    def _clone(self) -> Path:
        return roots.clone_root(self.settings)

    @property
    def vault(self) -> Path:
        """The root that people edit, or the clone. Raises VaultUnavailable if it is not set or not a folder."""
        if self.keeps_clone:
            if not self._clone.is_dir():
                raise VaultUnavailable("the vault's git remote has not been cloned yet: `vaultline sync` does it")
            return self._clone
        path = self.settings.vault_path
        if path is None:
            raise VaultUnavailable("no vault: set VAULT_PATH to the folder of notes, or VAULT_GIT_URL, or pass --vault")
        if not path.is_dir():
            what = "is not a folder" if path.exists() else "does not exist"
            raise VaultUnavailable(f"the vault {path} {what}: check VAULT_PATH or --vault")
        return path

    @property
    def uploads(self) -> Path | None:
        """The folder of uploads, which need not exist; see `roots.uploads_root`. Raises SettingsError."""
        return roots.uploads_root(self.settings)

    def place(self, disk_path: bytes) -> tuple[bytes, bool]:
        """Where a document's file lies, in the vault or among the uploads, and whether it may be a link.

        Raises VaultUnavailable.
        """
        if not disk_path.startswith(PREFIX):
            return os.path.join(os.fsencode(self.vault), disk_path), self.settings.vault_follow_links  # noqa: PTH118
        if self.uploads is None:
            raise VaultUnavailable("VAULTLINE_HOME lies in the vault: set UPLOADS_PATH to a folder beside the vault")
        return os.path.join(os.fsencode(self.uploads), disk_path.removeprefix(PREFIX)), False  # noqa: PTH118
