"""The MCP server of one store: the same for stdio and HTTP, which differ only in how they know who calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import mcp_types as types
from mcp import MCPError
from mcp.server import Server, ServerRequestContext

from agent_memory import __version__
from agent_memory.app.service import Caller, Service
from agent_memory.interfaces.mcp import places, prompts, resources, tools, wording
from agent_memory.interfaces.mcp.roots import Roots
from agent_memory.interfaces.threads import threaded
from agent_memory.models.errors import AgentMemoryError, InvalidInput

Identify = Callable[[Any], Caller]
"""Who calls: given the HTTP request, or None over stdio."""

Context = ServerRequestContext[Any, Any]
R = TypeVar("R")

NOT_FOUND = -32002
TOOLSETS = "toolsets"  # in the address of the server: /mcp?toolsets=core,knowledge
CODES = {"not_found": NOT_FOUND, "invalid_input": types.INVALID_PARAMS}


class _Offer:
    """What some toolsets offer. `quiet` tools are answered, and not listed: they were in the core before."""

    def __init__(self, names: frozenset[str]) -> None:
        self.names = names
        self.tools = tools.ordered(places.tools(names))
        self.quiet = places.tools(frozenset({places.FORMER})) if places.DEFAULT in names else {}
        self.resources = places.resources(names)


class McpDoor:
    """What is offered, and the handlers that the SDK calls. `roots`, where the client's are asked for."""

    def __init__(
        self, service: Service, identify: Identify, toolsets: Iterable[str] = (), roots: Roots | None = None
    ) -> None:
        self._service = service
        self._roots = roots
        self._identify = identify
        given = tuple(toolsets)
        self._usual = _Offer(places.chosen(given))
        self._fixed = bool(given)
        self._chosen: dict[frozenset[str], _Offer] = {}  # a client asks for the same ones at every call
        self.compat = places.COMPAT in self._usual.names

    def server(self) -> Server[Any]:
        offers: dict[str, Any] = {} if self.compat else {"on_list_prompts": self.prompts, "on_get_prompt": self.prompt}
        server: Server[Any] = Server(
            "agent-memory",
            version=__version__,
            title="Memory",
            instructions=wording.GRAPH if self.compat else wording.INSTRUCTIONS,
            on_list_tools=self.tools,
            on_call_tool=self.call,
            on_list_resources=self.resources,
            on_list_resource_templates=self.templates,
            on_read_resource=self.read,
            **offers,
        )
        if self._roots is not None:
            changed = "notifications/roots/list_changed"
            server.add_notification_handler(changed, types.NotificationParams, self._roots.changed)
        return server

    async def tools(self, context: Context, params: Any) -> types.ListToolsResult:
        offer = self._offer(context)
        return await self._answered(
            context,
            lambda caller: types.ListToolsResult(
                tools=[tools.announced(one) for one in offer.tools.values() if tools.allowed(one, caller)]
            ),
        )

    async def call(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        offer = self._offer(context)
        tool = offer.tools.get(params.name) or offer.quiet.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}")
        if question := await self._question(context, params):
            return question
        given = params.arguments or {}
        return await self._answered(context, lambda caller: tools.call(self._service, tool, caller, given))

    async def resources(self, context: Context, params: Any) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=resources.listed(self._offer(context).resources))

    async def templates(self, context: Context, params: Any) -> types.ListResourceTemplatesResult:
        templates = resources.templates(self._offer(context).resources)
        return types.ListResourceTemplatesResult(resource_templates=templates)

    async def read(self, context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        known = self._offer(context).resources
        return await self._answered(
            context, lambda caller: resources.read(self._service, known, caller, str(params.uri))
        )

    async def prompts(self, context: Context, params: Any) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=[one.announced() for one in prompts.PROMPTS.values()])

    async def prompt(
        self, context: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult | types.InputRequiredResult:
        if question := await self._question(context, params):
            return question
        return await self._answered(
            context, lambda caller: prompts.made(self._service, caller, params.name, params.arguments or {})
        )

    async def _question(self, context: Context, params: Any) -> types.InputRequiredResult | None:
        """What the client must say before it is answered."""
        return None if self._roots is None else await self._roots.learn(context, params)

    def _offer(self, context: Context) -> _Offer:
        """What was decided when the server began; where nothing was, a client chooses by its address."""
        asked = [] if context.request is None else context.request.query_params.getlist(TOOLSETS)
        if self._fixed or not asked:
            return self._usual
        try:
            names = places.chosen(asked)
        except InvalidInput as error:
            raise _problem(error) from error
        if names not in self._chosen:
            self._chosen[names] = _Offer(names)
        return self._chosen[names]

    def _caller(self, context: Context) -> Caller:
        caller = self._identify(context.request)._replace(door="mcp")
        return caller if self._roots is None else caller._replace(workplace=self._roots.workplace)

    async def _answered(self, context: Context, work: Callable[[Caller], R]) -> R:
        """Off the event loop; what is wrong becomes an error of the protocol, with our code and hint in its data."""
        try:
            return await threaded(lambda: work(self._caller(context)))
        except AgentMemoryError as error:
            raise _problem(error) from error


def _problem(error: AgentMemoryError) -> MCPError:
    return MCPError(CODES.get(error.code, types.INTERNAL_ERROR), str(error), error.to_dict())
