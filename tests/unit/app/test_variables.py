"""Settings come from arguments, the environment and `.env` files; one that may be a stranger's decides nothing that
matters, keys stay with their addresses, and what does not count is said."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import pytest

from agent_memory.app import config
from agent_memory.app.config import Settings, SettingsWarning
from agent_memory.app.variables import ENVIRONMENT, SettingsHeard
from agent_memory.models.errors import InvalidInput

# Every setting, a value that is not its default, and whether anybody's `.env` may say it. A new one goes here, too.
ANYBODY, OWNER = True, False
SETTINGS: dict[str, tuple[str, bool]] = {
    "home": ("/elsewhere", OWNER),
    "store": ("http://192.0.2.1", OWNER),
    "postgres_uri": ("postgresql://stranger@192.0.2.1/x", OWNER),
    "postgres_replica_uri": ("postgresql://stranger@192.0.2.1/y", OWNER),
    "working": ("redis://192.0.2.1", OWNER),
    "vectors": ("chroma://192.0.2.1", OWNER),
    "api_key": ("am_stolen", OWNER),
    "ca_file": ("/elsewhere/ca.pem", OWNER),
    "timeout": ("7", ANYBODY),
    "tenant": ("theirs", OWNER),
    "user": ("somebody", OWNER),
    "embedding_provider": ("openai", OWNER),
    "local_embedding_model": ("theirs", OWNER),
    "embedding_model": ("theirs", OWNER),
    "embedding_dimensions": ("7", OWNER),
    "embedding_url": ("http://192.0.2.1", OWNER),
    "embedding_price": ("7", OWNER),
    "embedders": ("mine=openai:theirs/7", OWNER),
    "openai_api_key": ("sk-stolen", OWNER),
    "openai_base_url": ("http://192.0.2.1", OWNER),
    "chat_provider": ("openai", OWNER),
    "chat_model": ("theirs", OWNER),
    "chat_url": ("http://192.0.2.1", OWNER),
    "chat_max_tokens": ("7", OWNER),
    "chat_timeout": ("7", OWNER),
    "chat_silence": ("7", OWNER),
    "chat_calls_a_day": ("7", OWNER),
    "chat_tokens_a_day": ("7", OWNER),
    "prices": ("theirs=0", OWNER),
    "unpriced": ("allow", OWNER),
    "budget_zone": ("Europe/Berlin", OWNER),
    "rerank_url": ("http://192.0.2.1", OWNER),
    "rerank_model": ("theirs", OWNER),
    "rerank_api_key": ("stolen", OWNER),
    "reranking_enabled": ("false", ANYBODY),
    "recipes": ("/elsewhere/recipes.toml", OWNER),
    "max_working_memory_items": ("7", ANYBODY),
    "operational_events": ("7", OWNER),
    "operational_hours": ("7", OWNER),
    "shelf_lines": ("7", OWNER),
    "access_log": ("off", OWNER),
    "rate_limit": ("0", OWNER),
    "redact": ("off", OWNER),
    "personal_data": ("mask", OWNER),
    "review": ("off", OWNER),
    "fact_confidence_threshold": ("0.5", OWNER),
    "salience_decay_rate": ("0.5", OWNER),
    "episodic_retention_days": ("7", OWNER),
    "grace_days": ("7", OWNER),
    "adapters": ("true", OWNER),
    "extract": ("model", OWNER),
    "compress": ("zstd", OWNER),
    "compress_days": ("7", OWNER),
    "max_memory_mb": ("4000", OWNER),
    "telemetry": ("otlp", OWNER),
    "procedures": ("false", OWNER),
    "workplace": ("/elsewhere", OWNER),
    "default_top_k": ("7", ANYBODY),
}
UNPREFIXED = (
    "EMBEDDING_PROVIDER EMBEDDING_MODEL LOCAL_EMBEDDING_MODEL EMBEDDING_DIMENSIONS OPENAI_API_KEY OPENAI_BASE_URL "
    "MAX_WORKING_MEMORY_ITEMS DEFAULT_TOP_K RERANKING_ENABLED"
).split()


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that came from somewhere, and is worked in."""
    folder = tmp_path / "clone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """The user's own `.env`."""
    folder = tmp_path / "config"
    folder.mkdir()
    return folder / ".env"


def load(**variables: str) -> Settings:
    """With no more of the environment than what the test says, and whatever is warned about."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SettingsWarning)
        return config.load(_environment(variables))


def heard(**variables: str) -> SettingsHeard:
    return config.heard(_environment(variables))


def messages(found: SettingsHeard) -> str:
    return "\n".join(f"{one.message} → {one.fix}" for one in found.notices)


def plain(settings: Settings, name: str) -> Any:
    value = getattr(settings, name)
    return value.get_secret_value() if hasattr(value, "get_secret_value") else value


def _environment(variables: dict[str, str]) -> dict[str, str]:
    return {"AGENT_MEMORY_CONFIG": os.environ["AGENT_MEMORY_CONFIG"], **variables}


def test_every_setting_is_classified() -> None:
    assert list(SETTINGS) == list(Settings.model_fields)


@pytest.mark.parametrize("name", SETTINGS)
def test_what_a_strangers_dotenv_may_set(clone: Path, name: str) -> None:
    value, anybody = SETTINGS[name]
    variable = f"AGENT_MEMORY_{name.upper()}"
    before = plain(load(), name)
    (clone / ".env").write_text(f"{variable}={value}\n")
    assert (plain(load(), name) != before) == anybody
    found = heard()
    assert (name in found.said) == anybody
    if not anybody:
        assert f"{clone}/.env: {variable} ignored" in messages(found)
        assert f"put it into {os.environ['AGENT_MEMORY_CONFIG']}/.env" in messages(found)
        with pytest.warns(SettingsWarning, match=variable):
            config.load()


@pytest.mark.parametrize("name", SETTINGS)
def test_the_users_own_dotenv_may_set_everything(clone: Path, mine: Path, name: str) -> None:
    value, _ = SETTINGS[name]
    before = plain(load(), name)
    mine.write_text(f"AGENT_MEMORY_{name.upper()}={value}\n")
    assert plain(load(), name) != before
    assert heard().said[name].origin == str(mine) and not heard().notices


@pytest.mark.parametrize("name", ["XDG_DATA_HOME", "LOCALAPPDATA", "XDG_CONFIG_HOME", "AGENT_MEMORY_CONFIG", "HOME"])
def test_no_dotenv_moves_the_folders(clone: Path, mine: Path, name: str) -> None:
    before = load()
    for file in (clone / ".env", mine):
        file.write_text(f"{name}={clone}\n")
        assert load() == before
        assert config.config_folder() == mine.parent
        assert (name in messages(heard())) == name.startswith("AGENT_MEMORY_")


def test_the_own_folder_is_own_however_it_is_reached(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine.write_text("AGENT_MEMORY_USER=ada\n")
    link = mine.parent.with_name("link")
    link.symlink_to(mine.parent)
    monkeypatch.chdir(link)
    assert load().user == "ada" and not heard().notices


def test_a_link_to_the_own_dotenv_is_not_own(clone: Path, mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever wrote the folder does not choose which files are believed."""
    other = clone.with_name("other.env")
    other.write_text("AGENT_MEMORY_USER=somebody\n")
    (clone / ".env").symlink_to(other)
    assert load().user == "default"


def test_the_order(clone: Path, mine: Path) -> None:
    mine.write_text("AGENT_MEMORY_DEFAULT_TOP_K=1\nAGENT_MEMORY_TIMEOUT=1\nAGENT_MEMORY_USER=ada\n")
    (clone / ".env").write_text("AGENT_MEMORY_DEFAULT_TOP_K=2\nAGENT_MEMORY_TIMEOUT=2\nAGENT_MEMORY_USER=eve\n")
    settings = load(AGENT_MEMORY_DEFAULT_TOP_K="3")
    assert (settings.default_top_k, settings.timeout, settings.user) == (3, 2, "ada")
    assert load(AGENT_MEMORY_TIMEOUT="").timeout == 60  # said to be nothing
    assert {name: one.origin for name, one in heard(AGENT_MEMORY_DEFAULT_TOP_K="3").said.items()} == {
        "default_top_k": ENVIRONMENT,
        "timeout": str(clone / ".env"),
        "user": str(mine),
    }


@pytest.mark.requirement("C14")
@pytest.mark.parametrize("name", UNPREFIXED)
def test_names_without_the_prefix(mine: Path, name: str) -> None:
    field, value = name.lower(), SETTINGS[name.lower()][0]
    default, plainly = plain(load(), field), plain(load(**{name: value}), field)
    assert plainly != default
    mine.write_text(f"{name}={value}\n")
    assert plain(load(), field) == plainly
    other = {"embedding_provider": "ollama", "reranking_enabled": "true"}.get(field, "8")
    mine.write_text(f"AGENT_MEMORY_{name}={other}\n")
    assert plain(load(**{name: value}), field) not in (plainly, None)
    assert heard(**{name: value}).said[field].variable == f"AGENT_MEMORY_{name}"


def test_an_error_names_the_variable_that_is_wrong(clone: Path) -> None:
    with pytest.raises(InvalidInput, match=r"^DEFAULT_TOP_K: "):
        load(DEFAULT_TOP_K="many")
    (clone / ".env").write_text("AGENT_MEMORY_DEFAULT_TOP_K=many\n")
    with pytest.raises(InvalidInput, match=f"^AGENT_MEMORY_DEFAULT_TOP_K in {clone}/.env: "):
        load()


KEYS = [
    ("api_key", "store", {}),
    ("openai_api_key", "openai_base_url", {"AGENT_MEMORY_EMBEDDING_PROVIDER": "openai"}),
    ("openai_api_key", "embedding_url", {"AGENT_MEMORY_EMBEDDING_PROVIDER": "openai"}),
    ("openai_api_key", "chat_url", {"AGENT_MEMORY_CHAT_PROVIDER": "openai"}),
    ("rerank_api_key", "rerank_url", {}),
]


@pytest.mark.parametrize(("key", "address", "beside"), KEYS)
def test_a_key_stays_with_its_address(mine: Path, key: str, address: str, beside: dict[str, str]) -> None:
    a_key, an_address = f"AGENT_MEMORY_{key.upper()}", f"AGENT_MEMORY_{address.upper()}"
    url = "http://192.0.2.1"
    mine.write_text(f"{an_address}={url}\n")
    for settings in (load(**{a_key: "k"}, **beside), load(**{key.upper(): "k"}, **beside)):
        assert (plain(settings, key), plain(settings, address)) == (None, url)
    said = messages(heard(**{a_key: "k"}, **beside))
    assert f"{a_key} (environment) is not sent to the address in {an_address} ({mine})" in said
    assert plain(config.load(_environment(beside), **{key: "k"}), key) == "k"  # whoever calls knows both
    mine.write_text(f"{a_key}=k\n")
    assert plain(load(**{an_address: url}, **beside), key) is None
    assert plain(load(**beside), key) == "k"  # to nowhere, or where the provider always is
    mine.write_text(f"{a_key}=k\n{an_address}={url}\n")
    assert plain(load(**beside), key) == "k"
    assert plain(load(**{a_key: "k", an_address: url}, **beside), key) == "k"


def test_a_store_of_this_machine_gets_no_key_and_needs_no_notice(mine: Path) -> None:
    mine.write_text("AGENT_MEMORY_STORE=sqlite:///x.db\nOPENAI_BASE_URL=http://192.0.2.1\n")
    found = heard(AGENT_MEMORY_API_KEY="k", OPENAI_API_KEY="k")
    assert "api_key" in found.said and "openai_api_key" not in found.said
    assert config.told(found.notices) == []  # nothing here asks for OpenAI


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("AGENT_MEMORY_STOER", "AGENT_MEMORY_STORE"),
        ("AGENTMEMORY_STORE", "AGENT_MEMORY_STORE"),
        ("AGENT_MEMROY_STORE", "AGENT_MEMORY_STORE"),
        ("agent_memory_store", "AGENT_MEMORY_STORE"),
        ("OPENAI_APIKEY", "OPENAI_API_KEY"),
        ("OPENAI_API_KYE", "OPENAI_API_KEY"),
        ("EMBEDDING_DIMENSION", "EMBEDDING_DIMENSIONS"),
        ("DEFAULT_TOPK", "DEFAULT_TOP_K"),
    ],
)
def test_a_name_that_is_nearly_right(clone: Path, name: str, meant: str) -> None:
    assert f"{name} means nothing → did you mean {meant}?" in messages(heard(**{name: "x"}))
    (clone / ".env").write_text(f"{name}=x\n")
    assert f"{name} in {clone}/.env means nothing → did you mean {meant}?" in messages(heard())
    with pytest.warns(SettingsWarning, match=f"did you mean {meant}"):
        config.load()


@pytest.mark.parametrize(
    "name", "USER HOME OPENAI_ORG_ID OPENAI_API_KEY_FILE AZURE_OPENAI_API_KEY EMBEDDING_URL MODEL TOP_K STORE".split()
)
def test_names_of_other_programs_are_theirs(name: str) -> None:
    assert not heard(**{name: "x"}).notices


def test_no_notice_where_the_right_name_is_there_too() -> None:
    assert not heard(OPENAI_API_KEY="k", OPENAI_API_KEY2="other").notices


def test_a_projects_own_variables_are_told_by_doctor_alone(clone: Path) -> None:
    """A `.env` with a key of OpenAI is in every second project, and means nothing while vectors are made here."""
    (clone / ".env").write_text("OPENAI_API_KEY=sk-project\n")
    assert "OPENAI_API_KEY" in messages(heard())
    assert config.told(heard().notices) == []
    assert config.load(_environment({})).openai_api_key is None
    (told,) = config.told(heard(EMBEDDING_PROVIDER="openai").notices)
    assert "OPENAI_API_KEY" in told.message


@pytest.mark.parametrize("data", [b"AGENT_MEMORY_USER=\xe4da\n", "AGENT_MEMORY_USER=ada".encode("utf-16")])
def test_a_file_that_is_not_utf8_is_named(mine: Path, data: bytes) -> None:
    mine.write_bytes(data)
    assert load().user == "default"
    assert f"{mine} was not read: it is not UTF-8" in messages(heard())


def test_files_that_are_none(clone: Path, mine: Path) -> None:
    (clone / ".env").mkdir()  # a virtual environment
    assert not heard().notices
    os.mkfifo(mine)  # nobody writes: reading it would take for ever
    assert not heard().notices
    mine.unlink()
    with mine.open("wb") as file:
        file.truncate(1 << 30)
    assert "larger than" in messages(heard())


def test_many_notices_are_cut(clone: Path) -> None:
    (clone / ".env").write_text("".join(f"AGENT_MEMORY_X{number}=1\n" for number in range(100)))
    assert len(heard().notices) == 100
    assert config.told(heard().notices)[-1].message == "and 95 more of this kind"


def test_a_folder_that_is_gone(clone: Path, mine: Path) -> None:
    mine.write_text("AGENT_MEMORY_USER=ada\n")
    clone.rmdir()
    assert load().user == "ada"


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("api_key", "am_secret", "not shown"),
        ("openai_api_key", "sk-secret", "not shown"),
        ("store", "https://ada:secret@example.org/x?token=secret", "https://example.org/x"),
        ("store", "sqlite:////tmp/a?b@c.db", "sqlite:////tmp/a?b@c.db"),
        ("user", "ada", "ada"),
    ],
)
def test_no_secret_is_shown(name: str, value: str, shown: str) -> None:
    assert config.shown(name, value) == shown
