"""`EMBEDDING_MODEL` or a stored generation -> an embedder."""

from pipelines.embedding import fake, local, openai_compatible, voyage
from pipelines.embedding.fake import FakeEmbedder, fake_spec
from pipelines.embedding.local import open_local, reopen_local
from pipelines.embedding.openai_compatible import open_openai, reopen_openai
from pipelines.embedding.protocol import Embedder, ModelSpec
from pipelines.embedding.voyage import open_voyage, reopen_voyage
from pipelines.errors import ModelChanged, SettingsError
from pipelines.settings import Settings

PROVIDERS = (local.PROVIDER, voyage.PROVIDER, openai_compatible.PROVIDER, fake.PROVIDER)


def create_embedder(model: str, settings: Settings) -> Embedder:
    """The embedder that `EMBEDDING_MODEL` names, as `provider/model`. Loads nothing heavy. Asks a server only for the
    dimensions of a model that neither we nor this home know.

    Raises SettingsError for a name that is not understood or a key that is not set, ModelUnavailable where files are
    missing or wrong, and what that one request meets.
    """
    provider, name = split_model(model)
    if provider == local.PROVIDER:
        return open_local(name, settings)
    if provider == voyage.PROVIDER:
        return open_voyage(name, settings)
    if provider == openai_compatible.PROVIDER:
        return open_openai(name, settings)
    return FakeEmbedder(fake_spec(name), log=settings.embedding_fake_log)


def create_embedder_for(spec: ModelSpec, address: str | None, settings: Settings) -> Embedder:
    """The embedder of a stored generation: prefixes and address as its row remembers them, keys from the settings.

    Raises ModelChanged where the model's files are no longer those of the generation, and as `create_embedder` does.
    """
    if spec.provider == local.PROVIDER:
        return reopen_local(spec, settings)
    if spec.provider == voyage.PROVIDER:
        return reopen_voyage(spec, address, settings)
    if spec.provider == openai_compatible.PROVIDER:
        return reopen_openai(spec, address, settings)
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
