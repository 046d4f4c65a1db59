"""The language model that LLM_MODEL names, behind its own client. Nothing here touches the index."""

import os
from typing import TYPE_CHECKING, Any

from pipelines.errors import LlmMisbehaved, LlmRefused, LlmUnavailable, SettingsError, VaultlineError
from pipelines.settings import Settings

if TYPE_CHECKING:
    from pydantic_ai.models import Model
    from pydantic_ai.settings import ModelSettings

OLLAMA = "http://127.0.0.1:11434/v1"
OPENAI = "https://api.openai.com/v1"
ANTHROPIC = "https://api.anthropic.com"
_NO_KEY = "none"  # the clients want a key, local servers do not

_RETRIES = 2
"""Of one request, by the provider's own client, after 429, 5xx and broken connections; it honours Retry-After."""


def check_llm(settings: Settings) -> None:
    """Raise SettingsError if LLM_MODEL cannot be what it says."""
    if settings.llm_model is not None:
        provider, name = _named(settings.llm_model)
        local = provider == "ollama" or (provider == "openai" and settings.llm_base_url is not None)
        if not name or provider not in ("ollama", "openai", "anthropic"):
            raise SettingsError(
                f"LLM_MODEL={settings.llm_model} is not provider/model with ollama, openai or anthropic as provider; "
                "for any other OpenAI-compatible server: openai/NAME with LLM_BASE_URL"
            )
        if settings.llm_api_key is None and not local:
            raise SettingsError(f"LLM_MODEL={settings.llm_model} needs LLM_API_KEY")


def make_model(settings: Settings) -> "Model":
    """The model of the settings. Takes about a second the first time: the library is loaded.

    Keys and addresses come from our settings only, whatever OPENAI_API_KEY or OLLAMA_BASE_URL say.
    Raises SettingsError.
    """
    check_llm(settings)
    assert settings.llm_model is not None
    os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")
    provider, name = _named(settings.llm_model)
    key = _NO_KEY if settings.llm_api_key is None else settings.llm_api_key.get_secret_value()
    if provider == "anthropic":
        from anthropic import AsyncAnthropic
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        client = AsyncAnthropic(
            api_key=key,
            auth_token=None,
            base_url=settings.llm_base_url or ANTHROPIC,
            timeout=settings.llm_timeout_seconds,
            max_retries=_RETRIES,
        )
        return AnthropicModel(name, provider=AnthropicProvider(anthropic_client=client))
    from openai import AsyncOpenAI
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.profiles.openai import OpenAIModelProfile

    default = OLLAMA if provider == "ollama" else OPENAI
    openai_client = AsyncOpenAI(
        api_key=key,
        organization="",
        project="",
        base_url=settings.llm_base_url or default,
        timeout=settings.llm_timeout_seconds,
        max_retries=_RETRIES,
    )
    # A stream that ends without saying why was cut, by a proxy or a dying server: half an answer is none.
    # Other servers know the bound of an answer by its older name only, and ignore the newer one.
    own = provider == "openai" and settings.llm_base_url is None
    whole = OpenAIModelProfile(
        openai_chat_streaming_requires_finish_reason=True, openai_chat_supports_max_completion_tokens=own
    )
    return OpenAIChatModel(name, provider=_openai_provider(provider, settings, openai_client), profile=whole)


def model_settings(settings: Settings) -> "ModelSettings":
    """Bounds of one request, and the cache breakpoint behind the tools and the instructions, which never change.

    The conversation itself is not cached: passages leave it after each turn, so that it is never read again as it was.
    """
    return {
        "max_tokens": settings.llm_max_tokens,
        "timeout": settings.llm_timeout_seconds,
        "cache": {"messages": False},
    }


def translated(error: Exception, settings: Settings) -> VaultlineError:
    """Our error for one of the library's. Its text may repeat what was sent, so that only the kind goes on."""
    from pydantic_ai import exceptions

    name = settings.llm_model
    if isinstance(error, exceptions.ModelHTTPError):
        status = error.status_code
        if status in (408, 409, 425, 429) or status >= 500:
            return LlmUnavailable(f"the language model {name} answered with status {status}, also when asked again")
        hint = ": check LLM_API_KEY" if status in (401, 403) else ": check LLM_MODEL" if status == 404 else ""
        return LlmRefused(f"the language model {name} refused with status {status}{hint}")
    if isinstance(error, exceptions.UsageLimitExceeded):
        return LlmMisbehaved(f"the language model {name} needed more requests or tokens than a turn may have")
    if isinstance(error, exceptions.ModelAPIError):
        return LlmUnavailable(f"the language model {name} cannot be reached or broke off: check LLM_BASE_URL")
    if isinstance(error, exceptions.UnexpectedModelBehavior):
        return LlmMisbehaved(f"the language model {name} answered in a way that makes no answer")
    return LlmUnavailable(f"the language model {name} failed: {type(error).__name__}")


def _named(model: str) -> tuple[str, str]:
    provider, _, name = model.partition("/")
    return provider.strip().lower(), name.strip()


def _openai_provider(provider: str, settings: Settings, client: Any) -> Any:
    """How the server's peculiarities are known: Ollama's, OpenAI's own, or those that all compatible ones share."""
    if provider == "ollama":
        from pydantic_ai.providers.ollama import OllamaProvider

        return OllamaProvider(openai_client=client)
    if settings.llm_base_url is None:
        from pydantic_ai.providers.openai import OpenAIProvider

        return OpenAIProvider(openai_client=client)
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    return OpenAICompatibleProvider("openai-compatible", openai_client=client)
