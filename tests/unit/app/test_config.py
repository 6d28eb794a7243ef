"""Settings come from arguments, the environment and a .env file, in this order; errors name the variable's field."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_memory.app import config
from agent_memory.models.errors import InvalidInput


def test_defaults_need_nothing() -> None:
    settings = config.load({"HOME": "/home/ada"})
    assert settings.store_url.startswith("sqlite:///") and settings.store_url.endswith("agent-memory/memory.db")
    assert settings.embedding_provider == "local" and settings.default_top_k == 10


def test_arguments_win_over_the_environment_and_that_over_dotenv(tmp_path: Path) -> None:
    folder = tmp_path / "config"
    folder.mkdir()
    lines = [
        "# a comment",
        "export AGENT_MEMORY_USER='bob'",
        'AGENT_MEMORY_TENANT="acme" ',
        "AGENT_MEMORY_STORE=sqlite:///x.db # here",
    ]
    (folder / ".env").write_text("\n".join([*lines, "garbage", ""]))
    environment = {"AGENT_MEMORY_CONFIG": str(folder)}
    settings = config.load({**environment, "AGENT_MEMORY_TENANT": "globex"})
    assert (settings.user, settings.tenant, settings.store) == ("bob", "globex", "sqlite:///x.db")
    assert config.load(environment, tenant="initech").tenant == "initech"


def test_some_are_read_without_the_prefix() -> None:
    settings = config.load({"OPENAI_API_KEY": "sk-secret", "OPENAI_BASE_URL": "http://127.0.0.1:1/v1"})
    assert settings.openai_api_key is not None and settings.openai_api_key.get_secret_value() == "sk-secret"
    assert "sk-secret" not in repr(settings)
    assert config.load({"USER": "root"}).user == "default"


@pytest.mark.parametrize("name", ["TELEMETRY", "DEFAULT_TOP_K", "MAX_WORKING_MEMORY_ITEMS"])
def test_a_wrong_value_is_named(name: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        config.load({f"AGENT_MEMORY_{name}": "nonsense"})
    assert caught.value.field == name.lower()


def test_the_home_follows_the_platform() -> None:
    assert config.data_folder({"AGENT_MEMORY_HOME": "/srv/memory"}) == Path("/srv/memory")
    assert config.data_folder({"XDG_DATA_HOME": "/data"}).name == "agent-memory"
