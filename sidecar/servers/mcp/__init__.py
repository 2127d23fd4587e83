"""MCP server for agents: over a pipe that a host starts, and over HTTP."""
