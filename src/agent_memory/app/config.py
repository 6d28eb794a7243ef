"""Settings: the only place that reads the environment and files. Everything is optional."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from pydantic import ConfigDict, Field, PrivateAttr, SecretStr, field_validator

from agent_memory.app import variables
from agent_memory.app.variables import PREFIX, Notice, SettingsHeard
from agent_memory.models.errors import InvalidInput
from agent_memory.models.model import Model

if TYPE_CHECKING:
    from agent_memory.models.recipe import Recipe

SERVERS = ("http://", "https://", "unix://")
MOST_TOLD = 5  # notices; `doctor` has the rest


class SettingsWarning(UserWarning):
    """Something was said about the settings that does not count."""


class Settings(Model):
    """Each field is the variable AGENT_MEMORY_<FIELD IN CAPITALS>; some are also read without the prefix."""

    model_config = ConfigDict(frozen=True)

    home: Path = Field(default_factory=lambda: data_folder(os.environ), description="folder of the default store")
    store: str | None = Field(
        default=None, description="path of the store, or URL of it or of a server; default: a SQLite file in `home`"
    )
    postgres_uri: str | None = Field(
        default=None, description="URL of a PostgreSQL database that is the store, where `store` does not say another"
    )
    postgres_replica_uri: str | None = Field(
        default=None, description="URL of a read replica of that database, for calls that only read"
    )
    working: str | None = Field(default=None, description="URL of the working sets, where they are not in the store")
    vectors: str | None = Field(
        default=None, description="URL of vectors in namespaces, where they are not in the store"
    )
    api_key: SecretStr | None = Field(default=None, description="key of this client at a server (a store at http://…)")
    ca_file: Path | None = Field(
        default=None, description="PEM file of who vouches for a server at https://…; default: the usual authorities"
    )
    timeout: float = Field(
        default=60.0, gt=0, le=86_400, description="seconds that a server may take to answer; ten times that for upkeep"
    )
    tenant: str = Field(default="default", description="tenant of clients that name none")
    user: str = Field(default="default", description="user of the command line")
    embedding_provider: str = Field(
        default="local", description="where vectors are made: `local`, `openai`, `ollama`, or the name of a plug-in"
    )
    local_embedding_model: str = Field(default="agent-memory-embedder", description="model of the local provider")
    embedding_model: str | None = Field(default=None, description="model of the openai or ollama provider")
    embedding_dimensions: int | None = Field(default=None, ge=1, description="its dimensions, if not the usual ones")
    embedding_url: str | None = Field(default=None, description="its endpoint, if not the usual one")
    embedding_price: float | None = Field(
        default=None, ge=0, allow_inf_nan=False, description="what a million of its tokens cost, for receipts"
    )
    embedders: str | None = Field(
        default=None,
        description="embedders of namespaces of vectors: `NAMESPACE=PROVIDER:MODEL/DIMENSIONS`, blanks between several",
    )
    openai_api_key: SecretStr | None = Field(default=None, description="key of the openai providers")
    openai_base_url: str | None = Field(default=None, description="endpoint of the openai providers")
    chat_provider: str | None = Field(
        default=None,
        description="where the chat model is: `openai`, `ollama`, or the name of a plug-in; default: there is none",
    )
    chat_model: str | None = Field(default=None, description="the model that is asked")
    chat_url: str | None = Field(default=None, description="its endpoint, if not the usual one")
    chat_max_tokens: int = Field(
        default=1024, ge=1, le=1_000_000, description="most tokens of an answer, where the caller names no number"
    )
    chat_timeout: float = Field(default=300.0, gt=0, le=86_400, description="seconds that a whole answer may take")
    chat_silence: float = Field(
        default=60.0, gt=0, le=86_400, description="seconds without a piece after which a streamed answer is given up"
    )
    chat_calls_a_day: int = Field(
        default=1000,
        ge=0,
        le=10**9,
        description="calls of chat models in a day, at most: by a store, or a process whose store is a server's",
    )
    chat_tokens_a_day: int = Field(
        default=1_000_000,
        ge=0,
        le=10**12,
        description="tokens of prompts and answers in a day, at most, counted in the same way",
    )
    prices: str | None = Field(
        default=None,
        description="what a million tokens of prompts and of answers cost: `MODEL=IN/OUT`, blanks between several",
    )
    unpriced: Literal["refuse", "allow"] = Field(
        default="refuse", description="where money is limited, a model without a price is not asked; `allow`: it is"
    )
    budget_zone: str | None = Field(
        default=None,
        description="time zone in which the days of budgets begin, such as `Europe/Berlin`; the store keeps it (UTC)",
    )
    rerank_url: str | None = Field(default=None, description="URL of a reranker, without the `/rerank` of an HTTP one")
    rerank_model: str | None = Field(default=None, description="its model, where it has several")
    rerank_api_key: SecretStr | None = Field(default=None, description="its key, where it wants one")
    reranking_enabled: bool = Field(
        default=True, description="select and reorder as recipes say; false: everything in fused order"
    )
    recipes: Path | None = Field(default=None, description="file of named recipes; default: `recipes.toml` in `home`")
    max_working_memory_items: int = Field(default=50, ge=1, description="turns that a working set keeps")
    operational_events: int = Field(default=10_000, ge=1, le=100_000, description="events that a ring holds")
    operational_hours: float = Field(default=24.0, gt=0, le=8760, description="how long it holds them")
    shelf_lines: int = Field(
        default=200_000,
        ge=0,
        description="journal lines of a user up to which a process searches in its memory; beyond, if the store is "
        "PostgreSQL, in the database",
    )
    access_log: Literal["soon", "durable", "off"] = Field(
        default="soon",
        description="the log of who read what: kept within a second (`soon`), before the answer (`durable`), or not at "
        "all (`off`)",
    )
    rate_limit: float = Field(default=100.0, ge=0, le=1e6, description="calls a second of one API key; 0: no limit")
    redact: bool = Field(
        default=True, description="take secrets out of what is stored, asked and logged: `on` or `off`"
    )
    personal_data: Literal["off", "mask", "hold"] = Field(
        default="off",
        description="addresses, numbers of phones, cards, accounts and insurances: leave them (`off`), take them out "
        "(`mask`), or hold for review what has them, unless the user stated it (`hold`)",
    )
    review: bool = Field(default=True, description="hold for review what is not certain or not trusted: `on` or `off`")
    fact_confidence_threshold: float = Field(
        default=0.7, ge=0, le=1, description="extracted facts below it are held for review"
    )
    salience_decay_rate: float = Field(
        default=0.95,
        ge=0,
        le=1,
        description="what a day without an access leaves of an entity's salience; of inferred facts, its square root",
    )
    episodic_retention_days: float = Field(
        default=90.0, gt=0, le=36_500, description="days after its last turn for which a conversation is not archived"
    )
    grace_days: float = Field(
        default=30.0,
        gt=0,
        le=36_500,
        description="days for which what was pruned can be restored, before it is removed",
    )
    adapters: bool = Field(
        default=False, description="let recall learn from feedback, in small steps that prove themselves: `on` or `off`"
    )
    extract: Literal["rules", "model"] = Field(
        default="rules",
        description="who reads what was said: `rules`; or also a chat model (`model`), what the rules make nothing of",
    )
    compress: Literal["off", "zstd", "lz4", "plain"] = Field(
        default="off",
        description="how the job `compress` keeps cold texts: `zstd`, `lz4`, or `plain` again; `off`: it leaves them",
    )
    compress_days: float = Field(default=30.0, ge=0, le=36_500, description="days after which a text is cold")
    max_memory_mb: float | None = Field(
        default=None, gt=0, description="megabytes that each process of a server holds at most (`serve --max-memory`)"
    )
    telemetry: Literal["off", "otlp"] = Field(
        default="off",
        description="`otlp`: traces of this process, sent where the `OTEL_EXPORTER_OTLP_*` variables say",
    )
    procedures: bool = Field(
        default=True, description="recall and contexts also find the pages of procedures of the working directory"
    )
    workplace: Path | None = Field(
        default=None,
        description="folder whose rules callers of a server may ask about, and whose pages jobs follow; "
        "default: where it was started, and jobs follow none",
    )
    default_top_k: int = Field(default=10, ge=1, le=1000, description="hits of a recall that names no k")

    @field_validator("postgres_uri", "postgres_replica_uri")
    @classmethod
    def _is_url(cls, said: str | None) -> str | None:
        """Nothing of it is repeated: it may hold a password."""
        if said is not None and not said.startswith(("postgresql://", "postgres://")):
            raise ValueError("should be a URL that begins with postgresql://, such as postgresql://user@host/memory")
        return said

    _bare: frozenset[str] = PrivateAttr(default=frozenset())

    @property
    def store_url(self) -> str:
        """A variable without our prefix may be meant for another program: it does not hide memories in a file."""
        file = self.home / "memory.db"
        database = None if "postgres_uri" in self._bare and file.exists() else self.postgres_uri
        return self.store or database or f"sqlite:///{file}"

    @property
    def is_remote(self) -> bool:
        """Whether the store is a server's."""
        return self.store_url.lower().startswith(SERVERS)

    @property
    def maybe_others(self) -> bool:
        """Whether the store is a database that a variable without our prefix names: it may be meant for another
        program."""
        return not self.store and "postgres_uri" in self._bare


def load(environment: Mapping[str, str] | None = None, **overrides: object) -> Settings:
    """Arguments win over the environment, the environment over `.env` in the working directory, as far as that may say
    it, and that over `.env` in the configuration folder. What does not count is warned about."""
    found = heard(environment, **overrides)
    settings = settled(found, environment)
    if said := told(found.notices):
        warnings.warn("; ".join(f"{one.message}. {one.fix}" for one in said), SettingsWarning, stacklevel=3)
    return settings


def heard(environment: Mapping[str, str] | None = None, **overrides: object) -> SettingsHeard:
    """What is said about the settings, and where."""
    environment = os.environ if environment is None else environment
    given = {name: value for name, value in overrides.items() if value is not None}
    files = _dotenvs(environment)
    return variables.heard(Settings.model_fields, given, environment, files, lambda path: own(path, environment))


def settled(found: SettingsHeard, environment: Mapping[str, str] | None = None) -> Settings:
    """The settings that follow; an error names the variable, and the file that has it."""
    values = {name: one.value for name, one in found.said.items()}
    try:
        made = Settings(**{"home": data_folder(os.environ if environment is None else environment), **values})
        made._bare = frozenset(name for name, one in found.said.items() if one.variable == name.upper())
        return made
    except InvalidInput as error:
        one = found.said.get(error.field or "")
        variable = one.variable if one else f"{PREFIX}{(error.field or '').upper()}"
        where = f" in {one.origin}" if one and one.in_file else ""
        raise InvalidInput(
            f"{variable}{where}: {error.message.partition(': ')[2]}", hint=error.hint, field=error.field
        ) from None


def get_settings() -> Settings:
    """The settings of this process, from the environment and `.env`."""
    return load()


def set_up_for() -> tuple[str, str]:
    """The tenant and user of this machine, whomever a program or a command names instead."""
    settings = settled(heard())
    return settings.tenant, settings.user


def told(notices: Sequence[Notice]) -> list[Notice]:
    """Those to warn about outside of `doctor`; a file can hold any number."""
    said = [one for one in notices if not one.aside]
    if len(said) <= MOST_TOLD:
        return said
    return [
        *said[:MOST_TOLD],
        Notice(f"and {len(said) - MOST_TOLD} more of this kind", "`agent-memory doctor` has all"),
    ]


def shown(name: str, value: object) -> str:
    """A setting for people: no secret, and no password or query in an address."""
    if SecretStr in get_args(Settings.model_fields[name].annotation):
        return "not shown"
    scheme, separator, rest = str(value).partition("://")
    if not separator or scheme == "sqlite":
        return str(value)
    return f"{scheme}://{rest.partition('?')[0].rpartition('@')[2]}"


def own(path: Path, environment: Mapping[str, str] | None = None) -> bool:
    """Whether a `.env` is the user's own: it lies in their configuration folder, or in a folder that they trust. In any
    other folder it may be a stranger's, who gave it away in a repository or an archive."""
    from agent_memory.app.trust import TrustTarget  # it asks git, and that only where a file wants something

    return _is_same(path.parent, config_folder(environment)) or TrustTarget(path.parent).trusted


def _dotenvs(environment: Mapping[str, str]) -> list[Path]:
    """Those that are read, the nearest first."""
    last = config_folder(environment)
    try:
        here = Path.cwd()
    except OSError:  # it was removed under our feet
        return [last / ".env"]
    return [last / ".env"] if _is_same(here, last) else [here / ".env", last / ".env"]


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def read_recipes(settings: Settings) -> dict[str, Recipe]:
    """The built-in recipes and those of the file, by name; `InvalidInput` names file, recipe and field.

    Read anew each time, so that a change is seen by the next recall that names a recipe of the file.
    """
    import tomllib

    from agent_memory.models.recipe import RECIPES, with_sections

    path = settings.recipes or settings.home / "recipes.toml"
    try:
        sections = tomllib.loads(path.expanduser().read_text("utf-8"))
    except FileNotFoundError as error:
        if settings.recipes is None:
            return dict(RECIPES)
        raise _broken(path, f"cannot be read: {error.strerror}") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise _broken(path, f"cannot be read: {error}") from None
    try:
        return with_sections(sections)
    except InvalidInput as error:
        raise _broken(path, error.message, error.hint) from None


def _broken(path: Path, why: str, hint: str = "") -> InvalidInput:
    return InvalidInput(f"{path}: {why}", hint=hint or "correct the file, or AGENT_MEMORY_RECIPES", field="recipe")


def data_folder(environment: Mapping[str, str]) -> Path:
    """AGENT_MEMORY_HOME, else where this platform keeps a program's data."""
    if home := environment.get(f"{PREFIX}HOME"):
        return Path(home)  # a `~` is understood where a store is opened
    if sys.platform == "win32":
        root = Path(environment.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        root = Path.home() / "Library" / "Application Support"
    else:
        root = Path(environment.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return root / "agent-memory"


def config_folder(environment: Mapping[str, str] | None = None) -> Path:
    """AGENT_MEMORY_CONFIG, else where this platform keeps a person's settings. Pages there are procedures of every
    folder. A `.env` has no say: whoever wrote a repository does not choose whose rules hold in it."""
    environment = os.environ if environment is None else environment
    if folder := environment.get(f"{PREFIX}CONFIG"):
        return Path(folder).expanduser()
    if sys.platform == "win32":
        root = Path(environment.get("APPDATA") or Path.home() / "AppData" / "Roaming")
    elif sys.platform == "darwin":
        root = Path.home() / "Library" / "Application Support"
    else:
        root = Path(environment.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return root / "agent-memory"
