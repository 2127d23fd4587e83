"""What agents may call, whatever protocol carries it: one module per capability.

A module here that has a function `tools(reach)` is a capability: the registry finds it by itself. What a
model reads of it stands in rubric/tools.md.
"""
