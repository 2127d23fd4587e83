"""The door of agents: tools that they call over MCP, and the pipe through which a host reaches them."""
