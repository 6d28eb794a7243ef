"""The doors as somebody outside uses them: each takes a call and gives all that comes back, errors included."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any
from urllib.parse import quote

import grpc
import pytest
from cast import TALK, ApiKey, opened
from foreign import Foreign
from google.protobuf.json_format import ParseError
from pydantic_core import to_json
from starlette.testclient import TestClient

from agent_memory import AgentMemory
from agent_memory.app import config, headers
from agent_memory.app.operations import Operation
from agent_memory.app.service import Service
from agent_memory.interfaces.cli import commands, main
from agent_memory.interfaces.grpc.schema import schema
from agent_memory.interfaces.mcp import places, prompts
from agent_memory.models.errors import AgentMemoryError
from agent_memory.models.record import Scope

NOISE = {
    "x-forwarded-for": "127.0.0.1",
    "x-forwarded-user": "ada",
    "forwarded": "for=127.0.0.1",
    "x-memory-scope": "zeta/ada/*",
    "x-memory-permissions": "admin",
    "x-tenant": "zeta",
    "cookie": "user=ada; tenant=zeta",
}
"""What other servers believe."""


@dataclass(frozen=True)
class Badge:
    """What a caller shows and says: a name may be said twice, as a forger would."""

    key: ApiKey | None
    said: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def may_be(self, keyed: bool) -> set[Scope]:
        """Everybody whom these words may be taken for. Nobody, where the key does not open."""
        said = [self.said.get(name) or (None,) for name in ("tenant", "user", "agent")]
        found = {self._one(keyed, *one) for one in itertools.product(*said)}
        return {one for one in found if one is not None}

    def _one(self, keyed: bool, tenant: str | None, user: str | None, agent: str | None) -> Scope | None:
        key = self.key
        if key is None:
            return None if keyed else Scope(tenant=tenant or "default", user=user or "default", agent=agent or "*")
        if key.revoked or tenant not in (None, key.tenant) or (key.user and user not in (None, key.user)):
            return None
        return Scope(tenant=key.tenant, user=key.user or user or "default", agent=agent or "*")

    def pairs(self) -> list[tuple[str, str]]:
        """As headers or metadata."""
        said = [(headers.NAMES[name], value) for name, values in self.said.items() for value in values]
        shown = [("authorization", f"Bearer {self.key.secret}")] if self.key else []
        return [*NOISE.items(), *said, *shown, (headers.NAMES["conversation"], TALK)]

    def last(self, name: str, otherwise: str) -> str:
        return (self.said.get(name) or (otherwise,))[-1]


class Stage(Service):
    """A service whose doors stay open while another store is put behind it."""

    def __init__(self) -> None:
        self.store = Path()

    def enter(self, store: Path) -> None:
        self.store = store
        Service.__init__(self, config.load(store=str(store)))


class Way:
    """A door. `keys`: whether a caller can show one."""

    keys = True

    def call(self, who: Badge, operation: Operation, given: dict[str, Any]) -> str:
        raise NotImplementedError

    def bare(self, who: Badge, operation: Operation) -> str:
        """The same without arguments: enough to hear whether it is open to somebody."""
        return self.call(who, operation, {})

    def others(self, who: Badge, ids: list[str]) -> Iterator[str]:
        """What this door has beside the operations."""
        yield from ()


def told(work: Callable[[], Any]) -> str:
    try:
        return to_json(work(), inf_nan_mode="constants", fallback=str).decode()
    except AgentMemoryError as error:
        return f"refused: {error.to_dict()}"


class InProcess(Way):
    """Nobody asks for a key here: whoever can open the file may."""

    keys = False

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    def call(self, who: Badge, operation: Operation, given: dict[str, Any]) -> str:
        scope = Scope(
            tenant=who.last("tenant", "default"), user=who.last("user", "default"), agent=who.last("agent", "*")
        )
        with opened(self._stage.store, scope) as memory:
            try:
                return told(lambda: _called(memory, operation, given))
            finally:
                memory.close(clear=False)


def _called(memory: AgentMemory, operation: Operation, given: dict[str, Any]) -> Any:
    owner = memory.retriever if "." not in operation.name else memory
    return attrgetter(operation.name)(owner)(**given)


class Remote(Way):
    """Our own client, at a real server."""

    def __init__(self, url: str) -> None:
        self._url = url

    def call(self, who: Badge, operation: Operation, given: dict[str, Any]) -> str:
        user = who.key.user if who.key and who.key.user and not who.said.get("user") else who.last("user", "default")
        memory = AgentMemory(
            user,
            TALK,
            store=self._url,
            tenant=who.last("tenant", "") or None,
            agent=who.last("agent", "*"),
            shared=user == "*",
            api_key=who.key.secret if who.key else None,
        )
        try:
            return told(lambda: _called(memory, operation, given))
        finally:
            memory.close(clear=False)


class Rest(Way):
    """By the route of each operation, the four calls of E8, and the streams."""

    def __init__(self, http: TestClient) -> None:
        self._http = http

    def call(self, who: Badge, operation: Operation, given: dict[str, Any]) -> str:
        method, _, path = operation.route.partition(" ")
        rest = dict(given)
        for name in [name for name in rest if f"{{{name}}}" in path]:
            path = path.replace(f"{{{name}}}", quote(str(rest.pop(name)), safe="") or "%20")
        return self._asked(who, method, f"/v1{path}", rest)

    def bare(self, who: Badge, operation: Operation) -> str:
        return self._asked(who, "POST", f"/v1/call/{operation.name}", {})

    def _asked(self, who: Badge, method: str, path: str, given: dict[str, Any]) -> str:
        if method in ("GET", "DELETE"):
            query = {name: json.dumps(one) if isinstance(one, dict) else one for name, one in given.items()}
            answer = self._http.request(method, path, params=query, headers=who.pairs())
        else:
            answer = self._http.request(method, path, json=given, headers=who.pairs())
        assert answer.status_code != 500, answer.text
        return f"{answer.status_code} {dict(answer.headers)} {answer.text}"

    def others(self, who: Badge, ids: list[str]) -> Iterator[str]:
        yield self._asked(who, "POST", "/memory/store", {"context": "checkout"})
        yield self._asked(who, "GET", "/memory/retrieve", {"q": "checkout port", "k": 50})
        yield self._asked(who, "GET", "/memory/stats", {})
        yield self._asked(who, "GET", "/v1/export", {})
        yield self._asked(who, "GET", "/v1/export", {"user": "ada", "tenant": "zeta"})
        lines = "\n".join(json.dumps({"text": "mine", "id": id, "scope": {"tenant": "zeta"}}) for id in ids)
        kind = ("content-type", "application/x-ndjson")
        yield self._http.post("/v1/import", content=lines, headers=[kind, *who.pairs()]).text
        for path in ("/metrics", "/healthz", "/readyz", "/openapi.json"):
            yield self._http.get(path, headers=who.pairs()).text


class Grpc(Way):
    """A client that has only the address, and what the server tells about itself."""

    def __init__(self, port: int) -> None:
        self._client = Foreign(port, user=None)
        self._methods = {one.operation.name: f"{name}/{one.name}" for name, one in _unary()}

    def call(self, who: Badge, operation: Operation, given: dict[str, Any]) -> str:
        return self._asked(who, lambda: self._client.call(self._methods[operation.name], given))

    def _asked(self, who: Badge, work: Callable[[], Any]) -> str:
        self._client.metadata = who.pairs()
        try:
            return json.dumps(work(), ensure_ascii=False)
        except ParseError as error:
            return f"no message: {error}"
        except grpc.RpcError as error:
            assert error.code() not in (grpc.StatusCode.UNKNOWN, grpc.StatusCode.INTERNAL), error
            return f"refused: {error} {error.trailing_metadata()}"

    def others(self, who: Badge, ids: list[str]) -> Iterator[str]:
        yield self._asked(who, lambda: [*self._client.stream("StreamService/Export")[1]])
        yield self._asked(who, lambda: [*self._client.stream("StreamService/Journal", {"follow": False})[1]])
        yield self._asked(
            who, lambda: self._client.send("StreamService/Import", ({"text": "mine", "id": id} for id in ids))
        )

    def close(self) -> None:
        self._client.close()


def _unary() -> Iterator[tuple[str, Any]]:
    for name, methods in schema().services.items():
        for one in methods:
            if one.operation is not None:
                yield name, one


class Mcp(Way):
    """Over HTTP: every toolset, the tools of the official server, resources and prompts."""

    def __init__(self, http: TestClient) -> None:
        self._http = http
        self._places = {operation.name: slot for slot, operation in places.places()}

    def call(self, who: Badge, operation: Operation, given: dict[str, Any]) -> str:
        place = self._places.get(operation.name)
        if place is None:
            return ""
        action = {"action": place.action} if place.action else {}
        said = {"name": place.tool, "arguments": {**given, **action, "max_tokens": 20_000}}
        if place.toolset == places.COMPAT:
            return self._asked(who, "/mcp/compat", "tools/call", {**said, "arguments": given})
        return self._asked(who, "/mcp", "tools/call", said)

    def _asked(self, who: Badge, path: str, method: str, params: dict[str, Any]) -> str:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        accept = ("accept", "application/json, text/event-stream")
        answer = self._http.post(path, json=body, headers=[accept, *who.pairs()])
        assert answer.status_code != 500 and '"unexpected"' not in answer.text, answer.text
        return f"{answer.status_code} {dict(answer.headers)} {answer.text}"

    def others(self, who: Badge, ids: list[str]) -> Iterator[str]:
        for path in ("/mcp", "/mcp/compat"):
            yield self._asked(who, path, "tools/list", {})
        for address in places.resources(frozenset(places.toolsets())):
            parts = ids if "{" in address else [""]
            for part in parts:
                uri = address.partition("{")[0] + quote(part, safe="")
                yield self._asked(who, "/mcp", "resources/read", {"uri": uri})
        for one in prompts.PROMPTS.values():
            said = {"name": one.name, "arguments": dict.fromkeys(one.arguments, "checkout") | {"max_tokens": "900"}}
            yield self._asked(who, "/mcp", "prompts/get", said)


class CommandLine(Way):
    """On the store itself, or, where keys are asked for, at the server: whoever can open the file needs none."""

    def __init__(self, stage: Stage, url: str) -> None:
        self._stage = stage
        self._url = url
        self._groups = commands.namespaces()

    def call(self, who: Badge, operation: Operation, given: dict[str, Any]) -> str:
        namespace, dot, method = operation.name.replace("_", "-").partition(".")
        made = commands.command(method or namespace, operation)
        words = [namespace, method] if dot else [namespace]
        options, values = ["--json"], []
        if operation.name in commands.QUESTIONS:
            options.append("--yes")
        for param in made.params:
            if param.name in given:
                many = given[param.name] if isinstance(given[param.name], list) else [given[param.name]]
                if param.param_type_name == "argument":
                    values += [_word(one) for one in (many if param.nargs == -1 else [given[param.name]])]
                elif isinstance(given[param.name], bool) and param.secondary_opts:
                    options.append(param.opts[0] if given[param.name] else param.secondary_opts[0])
                else:
                    options += [part for one in many for part in (param.opts[0], _word(one))]
        return self._run(who, [*words, *options, "--", *values])

    def others(self, who: Badge, ids: list[str]) -> Iterator[str]:
        yield self._run(who, ["doctor", "--json"])
        yield self._run(who, ["show", ids[0]])
        yield self._run(who, ["list"])
        yield self._run(who, ["recall", "--why", "checkout"])

    def _run(self, who: Badge, words: list[str]) -> str:
        whose = [part for name, values in who.said.items() for one in values for part in (f"--{name}", one)]
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in "12")
        with contextlib.ExitStack() as stack:
            patched = stack.enter_context(pytest.MonkeyPatch.context())
            patched.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
            patched.setenv("AGENT_MEMORY_STORE", self._url if self._stage.has_keys() else str(self._stage.store))
            if who.key:
                patched.setenv("AGENT_MEMORY_API_KEY", who.key.secret)
                patched.setenv("AGENT_MEMORY_USER", who.key.user or "default")
            stack.enter_context(contextlib.redirect_stdout(out))
            stack.enter_context(contextlib.redirect_stderr(err))
            code = main(["--conversation", TALK, *whose, *words])
        out.flush(), err.flush()
        said = b"".join(one.buffer.getvalue() for one in (out, err)).decode()  # type: ignore[attr-defined]
        assert code != 70, said
        return f"{code} {said}"


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
