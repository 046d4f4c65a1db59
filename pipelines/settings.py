"""Settings: from the environment, then `.env`, then the defaults below. One frozen object, read once a process."""

from functools import cache
from pathlib import Path
from typing import Annotated, Literal, Self

from platformdirs import user_data_path
from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from pipelines.errors import SettingsError

Words = Annotated[tuple[str, ...], NoDecode]
"""A setting that is a list: words separated by commas."""


class Settings(BaseSettings):
    """Every setting, under its environment variable's name in lower case."""

    model_config = SettingsConfigDict(env_file=".env", env_ignore_empty=True, extra="ignore", frozen=True)

    # -- where things are
    vault_path: Path | None = None  # the folder of notes; it is only ever read
    vaultline_home: Path = Field(default_factory=lambda: user_data_path("vaultline"))  # server, records, models
    database_url: SecretStr | None = None  # unset: the embedded server
    uploads_path: Path | None = None  # the folder of uploaded files, beside the vault; unset: uploads in VAULTLINE_HOME

    # -- vault
    vault_extensions: Words = (".md", ".markdown", ".txt", ".pdf", ".canvas")  # unknown ones are read as plain text
    vault_exclude: Words = ()  # patterns as in .gitignore, besides the vault's own ignore files
    vault_follow_links: bool = False  # may links lead out of the vault?
    vault_git_url: SecretStr | None = None  # remote of a clone that Vaultline keeps; may hold a password
    vault_git_branch: str | None = None  # unset: the remote's default branch
    vault_git_seconds: float = Field(default=30.0, ge=1)  # how often the remote is asked
    vault_quiet_seconds: float = Field(default=2.0, ge=0, le=30)  # sensors wait until a save or copy is over
    partition_depth: int = Field(default=1, ge=1, le=8)  # levels of folders that make a partition
    partition_buckets: int = Field(default=0, ge=0, le=1024)  # over 0: spread a flat vault over so many partitions
    full_hash_days: float = Field(default=7.0, gt=0)  # after which a file is read again though it looks the same
    mass_delete_fraction: float = Field(default=0.5, gt=0, le=1)  # of the documents gone at once needs --allow-deletes
    mass_delete_minimum: int = Field(default=10, ge=1)  # fewer are deleted unasked, unless they are all
    tombstone_days: float = Field(default=1.0, ge=0)  # that a deleted file's text is kept, in case it was moved
    embedding_cache_days: float = Field(default=7.0, ge=0)  # that a vector is kept after its last text went
    record_days: int = Field(default=90, ge=1)  # that Dagster's runs and the ledger of what they did are kept

    # -- parsing
    default_locale: str = "en"  # of documents that neither say nor show their language
    parse_max_characters: int = Field(default=5_000_000, ge=1_000)  # of one document; the rest is left out and reported
    parse_max_run_characters: int = Field(default=20_000, ge=100)  # without white space: hex, base64
    parse_detect_languages: Words = ("en", "es")  # ISO 639-1 codes that language detection chooses from
    parse_publication: Literal["all", "opt-in"] = "all"  # opt-in: only notes with `rag: true` or `publish: true`
    parse_anonymize: Words = ()  # names replaced in every document, besides each note's own `anonymize:` list
    parse_secrets: Literal["mask", "quarantine", "off"] = "mask"  # keys, tokens and passwords found in documents
    parse_mask_contacts: bool = False  # mask e-mail addresses and telephone numbers
    parse_keep_comments: bool = False  # index Obsidian's %%comments%% and HTML comments
    parse_resolve_embeds: bool = False  # put the text of ![[embedded notes]] in place of the link, once
    ocr_engine: Literal["auto", "rapidocr", "tesseract", "off"] = "auto"  # auto: rapidocr, else tesseract, else off
    ocr_languages: Words = ("spa", "eng")  # Tesseract's codes; RapidOCR reads all Latin scripts with one model
    ocr_dpi: int = Field(default=200, ge=72, le=600)  # resolution that pages are drawn with for OCR
    ocr_image_share: float = Field(default=0.25, ge=0, le=1)  # of a page with text that images cover, to be read too
    ocr_max_pages: int = Field(default=300, ge=0)  # read by OCR in one document; the rest is reported as skipped
    ocr_max_pixels: int = Field(default=20_000_000, ge=100_000)  # of one drawn page; larger pages are drawn smaller
    pdf_max_pages: int = Field(default=5_000, ge=1)  # of one document; the rest is reported as skipped
    pdf_max_seconds: float = Field(default=600.0, gt=0)  # for one document; pages done by then are kept
    pdf_max_memory_mb: int = Field(default=1_400, ge=256)  # resident, of the process that reads PDFs
    # -- chunking: budgets count the embedded text (heading path included) in all-MiniLM-L6-v2's tokens
    chunk_strategy: Literal["structural", "paragraph"] = "structural"
    chunk_max_tokens: int = Field(default=254, ge=32, le=254)
    chunk_target_tokens: int = Field(default=254, ge=1)  # where joining blocks stops
    chunk_min_tokens: int = Field(default=32, ge=0)  # a smaller rest joins its neighbour
    chunk_overlap_sentences: int = Field(default=0, ge=0, le=5)
    chunk_heading_path: bool = True  # embed the headings above a chunk with it
    chunk_title: bool = True  # embed the document's title with it
    # -- embedding
    embedding_model: str = "sentence-transformers/all-MiniLM-L6-v2"  # provider/model that is wanted
    embedding_base_url: str | None = None  # of an OpenAI-compatible server
    embedding_api_key: SecretStr | None = None
    voyage_api_key: SecretStr | None = None
    voyage_base_url: str | None = None
    embedding_runtime: Literal["auto", "openvino", "torch"] = "auto"
    embedding_model_path: Path | None = None  # a sentence-transformers folder, or a folder of such folders by name
    embedding_query_prefix: str | None = None  # unset: the model's own, or its family's
    embedding_document_prefix: str | None = None
    embedding_dimensions: int | None = Field(default=None, ge=1, le=16_000)  # of hosted models that offer a choice
    embedding_max_tokens: int | None = Field(default=None, ge=16)  # a hosted model's window, where it is not known
    embedding_concurrency: int = Field(default=4, ge=1, le=64)  # requests in flight to a hosted provider
    embedding_max_inputs: int | None = Field(default=None, ge=1)  # texts of one request, where the server takes few
    embedding_requests_per_minute: int | None = Field(default=None, ge=1)
    embedding_tokens_per_minute: int | None = Field(default=None, ge=1)
    embedding_timeout_seconds: float = Field(default=60.0, gt=0)  # of one request to a hosted provider
    embedding_patience_seconds: float = Field(default=300.0, ge=0)  # retrying one request; then the run fails
    embedding_query_patience_seconds: float = Field(default=3.0, ge=0)  # the same for a question: people wait
    embedding_prices: str | None = None  # JSON or a file of it: {"voyage/voyage-3": dollars per million tokens}
    embedding_fake_log: Path | None = None  # where `fake/NAME` notes its calls, for tests

    # -- generations
    embedding_revision: str | None = None  # any word; change it when a hosted model changed behind its name
    embedding_max_cost: float | None = Field(default=None, ge=0)  # dollars a run may spend; what was done is kept
    embedding_max_run_tokens: int | None = Field(default=None, ge=0)  # the same in tokens
    generation_auto_promote: bool = True  # switch to a complete new generation when the gate passes
    generation_soak_days: float = Field(default=7.0, ge=0)  # how long the previous generation is kept up to date
    golden_set: Path | None = None  # JSONL of questions that the gate compares the new and the active index on
    gate_recall: float = Field(default=0.95, ge=0, le=1)  # least recall@10 of HNSW against exact search, per locale
    gate_max_loss: float = Field(default=0.02, ge=0, le=1)  # of nDCG@10 on the golden set, per locale, on average
    # -- retrieval
    search_age_penalty: float = Field(default=0.05, ge=0, le=1)  # taken off the score of passages older than ...
    search_age_days: int = Field(default=183, ge=1)  # ... this
    search_language_boost: float = Field(default=0.03, ge=0, le=1)  # for passages in the language a question shows
    search_locale_boost: float = Field(default=0.2, ge=0, le=1)  # the same where the caller names the locale
    search_phrase_boost: float = Field(default=0.1, ge=0, le=1)  # for each phrase in quotes that a passage holds
    search_per_document: int = Field(default=3, ge=1)  # passages of one document among the results
    search_candidates: int = Field(default=50, ge=10, le=1_000)  # of each leg, before fusion
    search_expand: int = Field(default=0, ge=0, le=5)  # chunks shown before and after each result, same document
    search_links: Literal["path", "obsidian"] = "path"  # what citations in a terminal open
    rerank_model: str | None = None  # a cross-encoder by sentence-transformers, name or folder; unset: none
    rerank_depth: int = Field(default=20, ge=1, le=200)  # results that the cross-encoder reads again
    record_unanswered: bool = True  # keep questions that found nothing good enough, masked, without who asked
    search_max_characters: int = Field(default=4_000, ge=100)  # of a question; the rest is cut with a notice
    index_build_memory: str = "512MB"  # maintenance_work_mem while an HNSW index is built
    # -- serving
    serving_token: SecretStr | None = None  # asked of every caller; needed to listen on other than loopback addresses
    serving_hosts: Words = ()  # names that callers may reach a server by, besides loopback names and IP addresses
    serving_concurrency: int = Field(default=16, ge=1, le=256)  # requests worked on at a time; others get 503
    serving_timeout_seconds: float = Field(default=20.0, gt=0)  # for one request
    serving_uploads: bool = True  # take files from callers into UPLOADS_PATH
    upload_max_bytes: int = Field(default=50_000_000, ge=1_000)  # of one uploaded file
    uploads_max_bytes: int = Field(default=5_000_000_000, ge=1_000)  # of all uploaded files together
    mcp_answer_characters: int = Field(default=20_000, ge=2_000, le=200_000)  # of one answer; the rest is paged
    mcp_propose_learning: bool = False  # offer the tool that writes drafts into agent_learnings/ of the vault
    # -- assistant: without LLM_MODEL the chat answers with the passages themselves
    llm_model: str | None = None  # provider/model that writes answers: ollama/…, openai/… or anthropic/…
    llm_base_url: str | None = None  # of an Ollama or OpenAI-compatible server (vLLM, LM Studio, OpenRouter, Groq)
    llm_api_key: SecretStr | None = None
    llm_timeout_seconds: float = Field(default=60.0, gt=0)  # that a model may be silent
    llm_max_tokens: int = Field(default=1_500, ge=64)  # of one answer
    assistant_turn_tokens: int = Field(default=60_000, ge=1_000)  # read and written for one question, all requests
    assistant_tool_calls: int = Field(default=6, ge=0, le=50)  # for one question
    assistant_turn_seconds: float = Field(default=180.0, gt=0)  # for one question
    assistant_passages: int = Field(default=6, ge=1, le=20)  # given to the model, or looked at without one
    assistant_history: int = Field(default=8, ge=0, le=50)  # earlier questions of a session that the model is shown
    assistant_message_characters: int = Field(default=8_000, ge=100, le=100_000)  # of one message
    assistant_session_messages: int = Field(default=200, ge=1)  # of one session
    assistant_requests_per_minute: int = Field(default=30, ge=1)  # messages of one client (address)
    assistant_concurrency: int = Field(default=64, ge=1, le=1_000)  # questions answered at a time; others get 503
    assistant_heartbeat_seconds: float = Field(default=10.0, gt=0)  # between signs of life in a silent stream
    assistant_contact: str | None = None  # whom to ask when the documents do not say: an address, a channel
    assistant_memory: bool = True  # remember preferences, facts and topics that people mention
    assistant_leads: bool = False  # let people leave their name and contact, for the team to come back to them
    assistant_session_days: int = Field(default=180, ge=1)  # after its last message that a session is kept
    assistant_memory_days: int = Field(default=365, ge=1)  # after it was last mentioned that a memory is kept
    assistant_lead_days: int = Field(default=365, ge=1)  # that a lead is kept
    assistant_log_content: bool = False  # write questions, prompts and answers to the log

    @field_validator(
        "vault_extensions",
        "vault_exclude",
        "parse_detect_languages",
        "parse_anonymize",
        "ocr_languages",
        "serving_hosts",
        mode="before",
    )
    @classmethod
    def _split_words(cls, value: object) -> object:
        return tuple(word.strip() for word in value.split(",") if word.strip()) if isinstance(value, str) else value

    def environment(self) -> dict[str, str]:
        """The variables that give another process these settings, secrets included; empty ones count as unset."""
        return {name.upper(): _as_variable(getattr(self, name)) for name in type(self).model_fields}

    @classmethod
    def load(cls, **overrides: object) -> Self:
        """Read the settings; `overrides` win over everything.

        Raises SettingsError, naming the variable, the value's problem and what is allowed, never a secret's value.
        """
        try:
            return cls(**overrides)  # type: ignore[arg-type]
        except ValidationError as error:
            problems = "; ".join(
                f"{'.'.join(str(part) for part in item['loc']).upper()}: {item['msg']}" for item in error.errors()
            )
            raise SettingsError(f"settings: {problems}") from None


def _as_variable(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    if isinstance(value, tuple):
        return ",".join(value)
    return str(value)


@cache
def current() -> Settings:
    """The process's settings, read at the first call."""
    return Settings.load()
