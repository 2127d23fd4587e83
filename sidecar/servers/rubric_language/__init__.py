"""A language server for rubrics only: the Language Server Protocol over stdin and stdout.

It runs in its own process, as pygls is heavy. `desk` and `checking` read a rubric and find its flaws,
`editing` computes what an editor shows of it, and the other modules implement the protocol.
"""
