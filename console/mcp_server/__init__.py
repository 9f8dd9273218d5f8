"""The MCP server: the table of tools, resources and prompts for any MCP client; writes fail closed.

Built on the official SDK's MCPServer. `mcp` is imported here and nowhere else, and only by ``pilothouse mcp``.
"""
