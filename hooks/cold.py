"""What the hook relay does when the sidecar does not simply answer: start it, ask again, say what is wrong.

The runtime is the first found of: what an install recorded, $SUPERVISOR_BIN, PATH without the folders of the
project, the plugin's own data folder. A stop that cannot be judged lets the agent rest; a typed command that
nothing would enforce is refused.

As a program, `cold.py SECONDS COMMAND...`, it starts a command detached, in the same way.

A host waits for the start, so that what only trouble needs is imported there.
"""

# ruff: noqa: PLC0415, PTH112, PTH113, PTH117, SIM105 - see above

from __future__ import annotations

import os
import sys
from select import select
from time import monotonic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

KEPT = {"HOME", "PATH", "LANG", "TMPDIR", "USER", "LOGNAME"}
KEPT_PREFIXES = ("LC_", "XDG_", "SUPERVISOR_")
"""What the sidecar may know of the environment of the session that happens to start it."""
DYING_S = 0.05
"""The kernel may close a dead process's connections before the socket at which it listened."""
SKILL = rb'The user explicitly invoked the \\"'
"""How Copilot CLI begins the text of a typed command."""
TYPED = rb'"\s*:\s*"(%b|\s*)[^\w\s"\\]?supervisor:(goal|retry|rubric|trust|accept)\b' % SKILL
"""How a prompt begins that is one, whatever the host calls the field, and a command's mark."""
REFUSAL = '{"decision": "block", "reason": %s}'
NOTE = '{"systemMessage": %s}'


def rescue(
    ask: Callable[[bytes, bytes, float, float], bytes],
    arguments: tuple[bytes, bytes, float, float],
    trouble: Exception,
) -> bytes:
    """Ask again; else what to tell the host, b"" for nothing.

    That there is no sidecar, and that it hangs up, is forgiven once each. A session's end is worth no start.
    """
    event, state, silence, end = arguments
    forgiven = set()
    while sys.argv[2] != "SessionEnd" and isinstance(trouble, (ConnectionError, FileNotFoundError)):
        absent = isinstance(trouble, (ConnectionRefusedError, FileNotFoundError))
        if absent in forgiven:
            break
        forgiven.add(absent)
        try:
            if absent:
                start(state, event, max(0.001, min(silence, end - monotonic())))
            else:
                select([], [], [], DYING_S)
            return ask(*arguments)
        except Exception as error:
            trouble = error
    return excuse(event, trouble).encode()


def warn(answer: bytes) -> None:
    """Say on standard error what the user is to read, and end with 2: the host shows nothing else.

    What was answered counts all the same.
    """
    import json

    sys.stderr.buffer.write(json.loads(answer)["systemMessage"].encode("utf-8", "replace"))
    sys.stderr.flush()
    os._exit(2)


def renew(state: bytes) -> bytes:
    """Start a runtime beside an older sidecar, which makes room for it; never raises."""
    try:
        start(state, b"", 0)
    except OSError:
        pass
    return b""


def start(state: bytes, event: bytes, wait: float) -> None:
    """Start the runtime and wait until it listens, at most `wait` seconds.

    Raises ProcessLookupError where there is none.
    """
    for path in _candidates(os.fsdecode(state), event):
        if os.path.isabs(path) and os.path.isfile(path) and os.access(path, os.X_OK):
            return launch([path, "serve"], wait)
    raise ProcessLookupError("no runtime")


def launch(command: list[str], wait: float) -> None:
    """Start a command that outlives us, and wait until it closes its output, at most `wait` seconds."""
    kept = {
        name: value for name, value in os.environ.items() if name in KEPT or name.startswith(KEPT_PREFIXES)
    }
    output, theirs = os.pipe()
    os.chdir("/")
    os.posix_spawn(  # noqa: TID251 - the user's own runtime, see _candidates; subprocess takes 8 ms
        command[0],
        command,
        kept,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDWR, 0),
            (os.POSIX_SPAWN_DUP2, theirs, 1),
            (os.POSIX_SPAWN_DUP2, 0, 2),
        ],
        setsid=True,
    )
    os.close(theirs)
    select([output], [], [], wait)


def excuse(event: bytes, trouble: Exception) -> str:
    """What the host should do and say about an event that the sidecar did not deal with; "" for nothing.

    A host that takes no answer of Claude Code's form gives the relay its own: JSON with %s for the words.
    """
    import json
    import re

    name, missing = sys.argv[2], isinstance(trouble, ProcessLookupError)
    if name == "UserPromptExpansion" or (name == "UserPromptSubmit" and re.search(TYPED, event)):
        form, so = REFUSAL, "nothing would enforce this command"
    elif name == ("SessionStart" if missing else "Stop"):
        form, so = NOTE, "this stop was not judged"
    else:
        return ""
    own = next(given for given in (*sys.argv[6:], form) if given != "warn")
    return own.replace("%s", json.dumps(_why(trouble, so)))


def _why(trouble: Exception, so: str) -> str:
    """One line: what is wrong, what follows, what to type."""
    import json
    from contextlib import suppress

    if isinstance(trouble, ProcessLookupError):
        shell = f"in a shell: uv tool install supervisor-sidecar && supervisor install {sys.argv[5]}"
        way = "/supervisor:install" if sys.argv[5] == "claude-code" else shell
        return f"Supervisor has no runtime yet: Python packages, some 15 MB to fetch. Type: {way}"
    said = trouble.args[0] if isinstance(trouble, ValueError) else str(trouble)
    if isinstance(said, bytes):  # a line that is no answer: an error, or nothing of ours
        with suppress(ValueError, LookupError, TypeError):
            return f"Supervisor: {json.loads(said)['error']['message']}"
        said = "its answer makes no sense"
    return f"Supervisor did not answer ({said}): {so}. Type: supervisor doctor"


def _candidates(state: str, event: bytes) -> Iterator[str]:
    try:
        line = os.read(os.open(state + "/runtime", os.O_NONBLOCK), 4096)  # a pipe in its place has nothing
        yield os.fsdecode(line).strip()
    except (OSError, ValueError):
        pass
    yield os.environ.get("SUPERVISOR_BIN", "")
    from pathlib import Path

    projects = set(_projects(event))
    for folder in map(Path, os.environ.get("PATH", "").split(os.pathsep)):
        path = folder / "supervisor"
        if _ours(path) and not any(
            _inside(place.resolve(), project) for place in (folder, path) for project in projects
        ):
            yield str(path)
    yield os.environ.get("CLAUDE_PLUGIN_DATA", "") + "/runtime/bin/supervisor"


def _projects(event: bytes) -> Iterator[Path]:
    """Yield the folders that the session works on and the repositories around them; none holds the home."""
    import json
    from contextlib import suppress
    from pathlib import Path

    folders = [os.environ.get("CLAUDE_PROJECT_DIR", ""), os.environ.get("PWD", "")]
    with suppress(ValueError, LookupError, TypeError, AttributeError):
        told = json.loads(event).values()
        folders += [one for one in told if isinstance(one, str) and os.path.isdir(one)]
    home = Path.home().resolve()
    for folder in filter(Path.is_absolute, map(Path, folders)):
        place = folder.resolve()
        for around in (place, *place.parents):
            if (around == place or (around / ".git").exists()) and not _inside(home, around):
                yield around


def _inside(path: Path, folder: Path) -> bool:
    return path == folder or folder in path.parents


def _ours(path: Path) -> bool:
    """Whether it is our command: npm has a `supervisor` too, with quite another idea of `serve`."""
    try:
        with path.open("rb") as script:
            return b"sidecar" in script.read(4096)
    except OSError:
        return False


if __name__ == "__main__":
    launch(sys.argv[2:], float(sys.argv[1]))
