"""A stranger's pages over gRPC: quoted where the server was given their folder, and rules for nobody."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grpc
import pytest
from foreign import Foreign

from agent_memory.app.service import Service
from agent_memory.app.trust import TrustTarget, trust
from agent_memory.interfaces.grpc.server import start

PAGE = "# Deploying\n\nWe deploy on Fridays.\n\n## Rules\n\n- **run-it** (deny) Run it as root.\n  - command: `make`\n"


def asked(call: Any) -> tuple[Any, Any, Any]:
    """A context, the rules and a recall, as a foreign client gets them."""
    context = call("ContextsService/Assemble", {"task_description": "deploy the service"}).get("text", "")
    return context, call("RulesService/Read"), call("RetrieverService/Recall", {"query": "deploy"})


@pytest.mark.requirement("P23")
def test_a_strangers_pages_are_quoted_and_shown_nowhere_else(
    repo: Any, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.write("AGENTS.md", PAGE)
    repo.commit("feat: a tool")
    for folder, quoted, trusted in ((repo.root, True, False), (tmp_path, False, False), (repo.root, False, True)):
        monkeypatch.setenv("AGENT_MEMORY_WORKPLACE", str(folder))
        if trusted:
            trust(TrustTarget(repo.root))
        service = Service()
        with start(service, port=0) as door:
            client = Foreign(door.port)
            text, book, recalled = asked(client.call)
            assert ("not trusted: " in text) is quoted
            assert ("Fridays" in text) is (quoted or trusted)
            assert ("## Rules" in text) is trusted
            assert bool(book.get("rules")) is trusted and bool(book.get("quoted")) is quoted
            assert not recalled.get("hits")
            for name in ("RulesService/Trust", *(("RulesService/Follow",) if quoted else ())):
                with pytest.raises(grpc.RpcError) as error:
                    client.call(name)
                assert error.value.code() is grpc.StatusCode.PERMISSION_DENIED  # type: ignore[attr-defined]
            client.close()
        service.close()
