"""MCP: the operations that name a toolset, as tools, resources and prompts, over stdio and HTTP."""
