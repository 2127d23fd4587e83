"""The tools that agents can call over any protocol: one module per capability.

A module here with a function `tools(context)` is a capability, and the registry finds it automatically. The
texts that models read about the tools are in rubric/tools.md.
"""
