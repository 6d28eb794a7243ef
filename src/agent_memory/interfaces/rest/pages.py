"""`/docs`: the operations on one page that needs nothing from anywhere else; `/openapi.json` is for programs."""

from __future__ import annotations

from html import escape
from typing import Any

from fastapi import FastAPI
from starlette.responses import HTMLResponse

from agent_memory.interfaces.rest.description import SCOPE

STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1f24}"
    "code{font-family:ui-monospace,monospace}summary{cursor:pointer;padding:.2rem 0}"
    "b{display:inline-block;min-width:4.5rem}td,th{text-align:left;padding:.1rem 1rem .1rem 0;vertical-align:top}"
    "p{white-space:pre-line}@media(prefers-color-scheme:dark){body{background:#14171a;color:#e6e8ea}a{color:#8ab4f8}}"
)
HEADERS = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"}


def docs(app: FastAPI) -> HTMLResponse:
    """Made from the same description that programs read."""
    told = app.openapi()
    groups: dict[str, list[str]] = {}
    for path, methods in told["paths"].items():
        for method, one in methods.items():
            groups.setdefault((one.get("tags") or ["other"])[0], []).append(_operation(method, path, one, told))
    body = "".join(f"<h2>{escape(tag)}</h2>{''.join(found)}" for tag, found in sorted(groups.items()))
    title = escape(f"{told['info']['title']} {told['info']['version']}")
    head = f"<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title><style>{STYLE}</style>"
    scope = ", ".join(f"<code>{one['name']}</code>" for one in SCOPE.values())
    lead = f'Bodies are JSON. Whose memory it is: {scope}. For programs: <a href="openapi.json">openapi.json</a>.'
    return HTMLResponse(f"{head}<h1>{title}</h1><p>{lead}</p>{body}</html>", headers=HEADERS)


def _operation(method: str, path: str, one: dict[str, Any], told: dict[str, Any]) -> str:
    parameters = [_resolved(given, told) for given in one.get("parameters", ())]
    rows = [
        (given["name"], given["in"], given.get("required", False), given["schema"])
        for given in parameters
        if given not in SCOPE.values()
    ]
    content = one.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    shape = _resolved(content, told)
    needed = shape.get("required", ())
    rows += [(name, "body", name in needed, schema) for name, schema in shape.get("properties", {}).items()]
    table = "".join(
        f"<tr><td><code>{escape(name)}</code><td>{where}<td>{'required' if must else ''}<td>{escape(_type(schema))}"
        for name, where, must, schema in rows
    )
    summary = escape(one.get("summary") or one.get("description") or "")
    return (
        f"<details><summary><b>{method.upper()}</b> <code>{escape(path)}</code> {summary}</summary>"
        f"<p>{escape(one.get('description') or '')}</p><table>{table}</table></details>"
    )


def _resolved(schema: dict[str, Any], told: dict[str, Any]) -> dict[str, Any]:
    if ref := schema.get("$ref"):
        _, _, kind, name = ref.split("/")
        found: dict[str, Any] = told["components"][kind][name]
        return found
    return schema


def _type(schema: dict[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(_type(one) for one in schema["anyOf"] if one.get("type") != "null")
    if ref := schema.get("$ref"):
        return str(ref).rpartition("/")[2]
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return str(schema.get("format") or schema.get("type") or "any")
