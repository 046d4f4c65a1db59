"""Run configuration of the stages that write generations: what a run is for, and how long it may build."""

import dagster as dg
from pydantic import Field

from pipelines.generations.scope import Scope


class ScopeConfig(dg.Config):
    """`scope`: `ALL`, `CHANGES` (what an edit needs, and no more) or `BUILD` (the generations that do not serve)."""

    scope: Scope = Scope.ALL
    seconds: float = Field(default=0.0, description="Stop building after so many seconds; 0 is no limit.")
