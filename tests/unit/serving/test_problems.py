"""What callers learn of errors, and what they do not."""

import inspect

import pytest

from pipelines import errors
from pipelines.serving.drafts import DraftRefused
from pipelines.serving.problems import UNEXPECTED, problem_of
from pipelines.serving.workers import Overloaded, TookTooLong

SECRET = "relation secret at postgresql://user@10.0.0.5/x in /srv/vault: SELECT 1"
TREE = [found for _, found in inspect.getmembers(errors, inspect.isclass) if issubclass(found, errors.VaultlineError)]
TOLD = (errors.InvalidQuery, errors.GenerationNotFound, errors.SessionNotFound, errors.SessionBusy, errors.SessionFull)


@pytest.mark.parametrize("kind", TREE)
def test_every_error_has_a_status_and_only_the_callers_own_mistakes_are_repeated(
    kind: type[errors.VaultlineError],
) -> None:
    problem = problem_of(kind(SECRET))
    assert (SECRET in problem.detail) is issubclass(kind, TOLD)
    assert problem is not UNEXPECTED
    if issubclass(kind, errors.DatabaseError | errors.EmbeddingError):
        assert (problem.status == 503) is issubclass(kind, errors.Transient)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errors.InvalidQuery("the question is empty"), 400),
        (errors.DatabaseUnavailable("x"), 503),
        (errors.NoActiveGeneration("x"), 503),
        (Overloaded("x"), 503),
        (TookTooLong("x"), 504),
        (DraftRefused("x"), 409),
        (KeyError(SECRET), 500),
    ],
)
def test_statuses(error: Exception, status: int) -> None:
    problem = problem_of(error)
    assert problem.status == status
    assert SECRET not in str(problem.to_json())
    assert ("Retry-After" in problem.headers) is (status == 503)
