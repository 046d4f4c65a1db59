"""`EMBEDDING_MODEL` or a stored generation -> an embedder."""

from pipelines.embedding import fake, local
from pipelines.embedding.fake import FakeEmbedder, fake_spec
from pipelines.embedding.local import open_local, reopen_local
from pipelines.embedding.protocol import Embedder, ModelSpec
from pipelines.errors import ModelChanged, SettingsError
from pipelines.settings import Settings

PROVIDERS = (local.PROVIDER, "voyage", "openai", fake.PROVIDER)


def create_embedder(model: str, settings: Settings) -> Embedder:
    """The embedder that `EMBEDDING_MODEL` names, as `provider/model`. Loads nothing heavy.

    Raises SettingsError for a name that is not understood, ModelUnavailable where files are missing or wrong.
    """
    provider, name = split_model(model)
    if provider == local.PROVIDER:
        return open_local(name, settings)
    return FakeEmbedder(fake_spec(name), log=settings.embedding_fake_log)


def create_embedder_for(spec: ModelSpec, address: str | None, settings: Settings) -> Embedder:
    """The embedder of a stored generation: prefixes and address as its row remembers them, keys from the settings.

    Raises ModelChanged where the model's files are no longer those of the generation, and as `create_embedder` does.
    """
    if spec.provider == local.PROVIDER:
        return reopen_local(spec, settings)
    if spec.provider != fake.PROVIDER:
        raise SettingsError(
            f"a generation was made with the provider {spec.provider}, which this version does not know"
        )
    if spec != fake_spec(spec.model):
        raise ModelChanged(f"{spec.name} is another fake than the one this generation was made with")
    return FakeEmbedder(spec, log=settings.embedding_fake_log)


def split_model(model: str) -> tuple[str, str]:
    """`provider/model` -> (provider, model). Raises SettingsError, naming the providers there are."""
    provider, slash, name = model.strip().partition("/")
    if provider not in PROVIDERS or not slash or not name:
        raise SettingsError(
            f"EMBEDDING_MODEL={model} is not provider/model; providers are {', '.join(PROVIDERS)}, "
            "as in sentence-transformers/all-MiniLM-L6-v2"
        )
    return provider, name
