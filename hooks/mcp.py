"""The plugin's MCP server: the pipe to the sidecar, in whatever Python the host's machine has.

The pipe itself is the package's: pipe.py beside this file is a link to it, in a wheel a copy. It starts with
what the hooks start with, and says on standard error why it cannot.
"""

import sys
from os.path import abspath, dirname

VERSION = "0.3.0"
START_S = 40.0
"""Longest start: the sidecar may have to wait until an older one has finished what it does (30 s)."""
HOOKS = dirname(abspath(__file__))  # noqa: PTH100, PTH120 - pathlib takes longer than all the rest


def main() -> None:
    """Be the pipe until the host leaves."""
    sys.path.append(HOOKS)
    import pipe  # type: ignore[import-not-found]  # noqa: PLC0415 - it is there from now on

    try:
        pipe.live(VERSION, start)
    except ProcessLookupError:
        sys.exit("supervisor: there is no runtime yet. Type in Claude Code: /supervisor:install")
    except (OSError, pipe.PipeError) as error:
        sys.exit(f"supervisor: the sidecar does not answer ({error}). Type in a shell: supervisor doctor")


def start(run: str) -> None:
    """Start the runtime; raises ProcessLookupError where there is none."""
    import cold  # noqa: PLC0415 - only a start has to pay for it. mypy takes it for benchmarks/cold.py

    cold.start(dirname(run), b"", START_S)  # type: ignore[attr-defined]  # noqa: PTH120 - as above


if __name__ == "__main__":
    main()
