"""OpenAPI, for programs: what FastAPI reads from the routes, and what it cannot know: whose memory a call is about, the
key that it shows, headers that some operations take and give, and the one form of every error.

Names of schemas are those of the models; where two models share one, their modules tell them apart, as in gRPC.
"""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from agent_memory.app import headers
from agent_memory.interfaces.rest.latent import built
from agent_memory.interfaces.rest.problems import Problem
from agent_memory.models.model import LONGEST_NAME

KEY = "ApiKey"
ABOUT = """Memory for agents. Bodies are JSON, moments are text with a time zone (RFC 3339).

Where the server has API keys, every call shows one; without any, only callers on the same machine are answered. Whose
memory a call is about is said in the `X-Memory-*` headers: names beyond ASCII are percent-encoded UTF-8."""
_MEANT = {
    "user": "Whose memory it is; `default` if nobody is named, or the user that the key is bound to.",
    "tenant": "The tenant of the user; that of the key, if nothing is said.",
    "agent": "The agent that calls, where its memories are its own.",
    "conversation": "The conversation that the call belongs to.",
    "why": "What a read is for, such as the number of a ticket; it is kept in the access log.",
}


def _header(name: str, description: str, most: int) -> dict[str, Any]:
    text = {"type": "string", "minLength": 1, "maxLength": most}
    return {"name": name, "in": "header", "required": False, "description": description, "schema": text}


SCOPE = {
    header.title().replace("-", ""): _header(header.title(), _MEANT[name], LONGEST_NAME)
    for name, header in headers.NAMES.items()
}
IDEMPOTENCY_KEY, IF_MATCH = "IdempotencyKey", "IfMatch"
TAKEN = {
    IDEMPOTENCY_KEY: _header(
        "Idempotency-Key", "The write is done once, however often it is sent with this key.", LONGEST_NAME
    ),
    IF_MATCH: _header(
        "If-Match",
        'The `ETag` of the record, such as `"3"`: only if that is still its newest version; `*`: whichever it is.',
        32,
    ),
}
GIVEN = {
    "ETag": {"description": "The version of the record, for `If-Match`.", "schema": {"type": "string"}},
    "Link": {"description": 'Where the list goes on: `<…>; rel="next"`.', "schema": {"type": "string"}},
    "RetryAfter": {
        "description": "In how many seconds to come again (429, 503).",
        "schema": {"type": "integer", "minimum": 0},
    },
}


def reference(kind: str, name: str) -> dict[str, str]:
    return {"$ref": f"#/components/{kind}/{name}"}


def described(app: FastAPI) -> dict[str, Any]:
    """The whole document, made once."""
    if app.openapi_schema is None:
        routes = [built(route) for route in app.routes]
        made = get_openapi(title=app.title, version=app.version, description=ABOUT, routes=routes)
        parts = made["components"]
        parts["schemas"][Problem.__name__] = Problem.model_json_schema()
        parts["parameters"] = SCOPE | TAKEN
        parts["headers"] = GIVEN
        bearer = "A key of `agent-memory keys create`, as `Authorization: Bearer am_…`."
        parts["securitySchemes"] = {KEY: {"type": "http", "scheme": "bearer", "description": bearer}}
        made["security"] = [{KEY: []}, {}]
        for methods in made["paths"].values():
            for operation in methods.values():
                operation.setdefault("parameters", []).extend(reference("parameters", name) for name in SCOPE)
        app.openapi_schema = _named(made)
    return app.openapi_schema


def _named(made: dict[str, Any]) -> dict[str, Any]:
    """FastAPI tells models of one name apart by the whole path of their modules."""
    schemas = made["components"]["schemas"]
    short = {name: _short(name) for name in schemas if "__" in name}
    for name, chosen in short.items():
        if chosen in schemas:
            raise ValueError(f"two models are called {chosen}: rename one")
        schemas[chosen] = {**schemas.pop(name), "title": chosen}
    where = {reference("schemas", name)["$ref"]: reference("schemas", chosen)["$ref"] for name, chosen in short.items()}

    def walk(node: Any) -> Any:
        if isinstance(node, dict):
            return {name: where.get(one, one) if name == "$ref" else walk(one) for name, one in node.items()}
        return [walk(one) for one in node] if isinstance(node, list) else node

    made["components"]["schemas"] = dict(sorted(schemas.items()))
    found: dict[str, Any] = walk(made)
    return found


def _short(name: str) -> str:
    """`agent_memory__models__trace__LeftOut` -> `TraceLeftOut`"""
    *_, module, model = name.split("__")
    return f"{module.title().replace('_', '')}{model}"
