"""Every error Vaultline raises on purpose.

    VaultlineError                     exit code 1
    |- UsageError                      exit code 2: the command or a setting is wrong
    |  `- SettingsError
    |- DatabaseError
    |  |- DatabaseUnavailable          (transient)
    |  |- DatabaseConflict             (transient: deadlock, serialisation failure)
    |  |- DatabaseRefused              wrong password, missing rights, read-only server
    |  |- DatabaseFull
    |  |- DatabaseUnsupported          server or pgvector missing or too old
    |  `- SchemaMismatch               the schema is newer than this code
    |- VaultError
    |  |- VaultUnavailable             the root cannot be read: nothing is deleted
    |  |- VaultShrank                  most of the vault is gone: nothing is deleted until confirmed
    |  |- RemoteUnreachable            (transient) the vault's git remote did not answer
    |  `- RemoteRefused                the remote said no: credentials, address, branch
    |- DocumentError                   one file; the document goes to quarantine, the run goes on
    |- EmbeddingError
    |  |- ModelUnavailable             weights missing, wrong hash, unknown model, missing package
    |  |- ProviderRefused              wrong key, request the provider will never accept
    |  |- ProviderUnavailable          (transient: unreachable, rate limited, timed out)
    |  |- InvalidVectors               wrong length, not finite, zero
    |  `- BudgetExceeded               a cap in money or tokens stopped the run
    |- GenerationError
    |  |- GenerationNotFound
    |  |- GateNotPassed
    |  `- ModelChanged                 the canary's vector is not what it was
    |- SearchError
    |  |- InvalidQuery                 exit code 2
    |  `- NoActiveGeneration
    `- AssistantError
       |- SessionNotFound
       |- SessionBusy                  a question of the session is still being answered
       |- SessionFull                  the session has all the messages it may have
       |- LlmMisbehaved                no answer within its bounds, calls that are none
       |- LlmRefused                   wrong key, unknown model, a request it will never accept
       `- LlmUnavailable               (transient) unreachable, overloaded, cut off, too slow

Messages say what happened, to which file or address, and what to do. They never hold a password, a key or note text.
Driver errors are translated in `storage.database`, HTTP errors in `embedding.http`, and nowhere else.
"""


class VaultlineError(Exception):
    """Root of the tree. `exit_code` is what the command line ends with."""

    exit_code = 1


class Transient:
    """Mixed into errors after which the same call may succeed: retry logic asks for this type."""


class UsageError(VaultlineError):
    """The caller asked for something that cannot be done as asked."""

    exit_code = 2


class SettingsError(UsageError):
    """A setting is missing or has a value that is not allowed."""


class DatabaseError(VaultlineError):
    """The database said no."""


class DatabaseUnavailable(DatabaseError, Transient):
    """No connection: not running, wrong address, restarted."""


class DatabaseConflict(DatabaseError, Transient):
    """Deadlock or serialisation failure; the transaction was undone and may be repeated."""


class DatabaseRefused(DatabaseError):
    """The server answered and refused: password, rights, read-only."""


class DatabaseFull(DatabaseError):
    """The server's disk is full."""


class DatabaseUnsupported(DatabaseError):
    """The server or an extension is missing or too old."""


class SchemaMismatch(DatabaseError):
    """The schema was made by a newer version of Vaultline."""


class VaultError(VaultlineError):
    """The vault as a whole cannot be used."""


class VaultUnavailable(VaultError):
    """The root is missing, unreadable or not a folder."""

    exit_code = 2


class VaultShrank(VaultError):
    """The vault is suddenly empty or mostly gone; deleting needs a confirmation."""


class RemoteUnreachable(VaultError, Transient):
    """The vault's git remote did not answer, or not in time."""


class RemoteRefused(VaultError):
    """The vault's git remote refuses, or what was asked for is not there: credentials, address, branch, no commit."""


class DocumentError(VaultlineError):
    """One document cannot be processed; `str(error)` is the reason a person reads in the quarantine."""


class EmbeddingError(VaultlineError):
    """Texts could not be turned into vectors."""


class ModelUnavailable(EmbeddingError):
    """The model's files, package or name cannot be found or verified."""


class ProviderRefused(EmbeddingError):
    """The provider refused for a reason that waiting does not change."""


class ProviderUnavailable(EmbeddingError, Transient):
    """The provider could not be reached, or asked to wait for longer than the bound."""


class InvalidVectors(EmbeddingError):
    """A vector has the wrong length, is zero or is not finite."""


class BudgetExceeded(EmbeddingError):
    """A cap in money or tokens was reached; what was done is kept."""


class GenerationError(VaultlineError):
    """A step of a model migration cannot be taken."""


class GenerationNotFound(GenerationError):
    """No generation with that number, or none in that state."""

    exit_code = 2


class GateNotPassed(GenerationError):
    """The checks before promotion did not pass."""


class ModelChanged(GenerationError):
    """The model behind an unchanged name gives other vectors than when the generation was made."""


class SearchError(VaultlineError):
    """A question could not be answered for a technical reason."""


class InvalidQuery(SearchError):
    """The question is empty."""

    exit_code = 2


class NoActiveGeneration(SearchError):
    """Nothing has been indexed completely yet."""


class AssistantError(VaultlineError):
    """A message of a chat could not be answered."""


class SessionNotFound(AssistantError):
    """There is no chat session of that id."""


class SessionBusy(AssistantError):
    """Another question of the session is still being answered."""


class SessionFull(AssistantError):
    """The session has as many messages as it may have."""


class LlmRefused(AssistantError):
    """The language model refused for a reason that waiting does not change."""


class LlmMisbehaved(AssistantError):
    """The language model came to no answer: too many steps or tokens, calls of tools that cannot be read."""


class LlmUnavailable(AssistantError, Transient):
    """The language model could not be reached, asked to wait, broke off or took too long."""
