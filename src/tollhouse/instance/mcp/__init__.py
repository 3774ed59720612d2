"""The MCP server at `/mcp`: four tools over the Integration API for agents.

Start with `api.py`. What needs the SDK is in `server.py`, which is imported by the first request.
"""
