"""Reads labelled stops: JSON lines, one `Labelled` each, blank lines between them.

What is wrong is told with file and line, several faults at once, and then nothing is read: figures over a
part would look like figures. A field that no label has is a fault too, for a typing error would change the
truth unseen. What a shell line runs is read from the line where the label leaves it out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from sidecar.adapters.files import UnfitError, read_whole
from sidecar.adapters.plugin import corpus_folder
from sidecar.adapters.shell.line import runs
from sidecar.model.labelled import Labelled
from sidecar.model.turn import Doing, ToolCall
from sidecar.ports import BadInputError

FILE_LIMIT: Final = 64 * 1024 * 1024
"""Bytes of one file."""
LINE_LIMIT: Final = 4 * 1024 * 1024
"""Bytes of one stop; a turn has at most 400 calls with outputs of 2,000 characters."""
ITEMS_LIMIT: Final = 100_000
"""Stops of all files together."""
FAULTS_TOLD: Final = 10
"""Faults that are told at once."""
FIELDS: Final = frozenset(Labelled.__struct_encode_fields__)

_DECODER = msgspec.json.Decoder(Labelled)
_FIELDS_DECODER = msgspec.json.Decoder(dict[str, Raw])


def default_files() -> tuple[Path, ...]:
    """The corpus that comes with Supervisor. Raises BadInputError where it is not there, and HostError."""
    folder = corpus_folder()
    found = tuple(sorted(folder.glob("*.jsonl")))
    if not found:
        raise BadInputError(f"{folder}: there is no corpus here; name files of your own")
    return found


def read(paths: Iterable[Path]) -> tuple[Labelled, ...]:
    """All stops of these files, in their order. Raises BadInputError."""
    known: dict[str, tuple[str, Labelled]] = {}
    faults: list[str] = []
    for place, found in (each for path in paths for each in _read(path)):
        if not isinstance(found, Labelled):
            faults.append(f"{place}: {found}")
        elif found.id in known:
            faults.append(f"{place}: {found.id!r} is the id of {known[found.id][0]} too")
        elif len(known) == ITEMS_LIMIT:
            faults.append(f"{place}: more than {ITEMS_LIMIT} stops")
            break
        else:
            known[found.id] = (place, found)
        if len(faults) == FAULTS_TOLD:
            break
    if faults:
        raise BadInputError("\n".join(faults))
    return tuple(item for _, item in known.values())


def _read(path: Path) -> Iterator[tuple[str, Labelled | str]]:
    """Each stop, or what is wrong with its line, with its place."""
    try:
        data = read_whole(path, FILE_LIMIT, follow=True)
    except (OSError, UnfitError) as error:
        yield str(path), str(getattr(error, "strerror", None) or error)
        return
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if line.strip():
            yield f"{path}:{number}", _item(line)


def _item(line: bytes) -> Labelled | str:
    """The stop of one line, or what is wrong with it."""
    if len(line) > LINE_LIMIT:
        return f"{len(line)} bytes, more than {LINE_LIMIT}"
    try:
        item = _DECODER.decode(line)
        strange = sorted(_FIELDS_DECODER.decode(line).keys() - FIELDS)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return str(error)
    except RecursionError:
        return "nested too deeply"
    if strange:
        return f"a label has no field {strange[0]!r}"
    return _senseless(item) or _whole(item)


def _senseless(item: Labelled) -> str:
    """Why this label contradicts itself; "" where it does not."""
    if not item.id or not item.family:
        return "id and family must not be empty"
    if bool(item.goal) != (item.complete is not None):
        return "`goal` and `complete` belong together"
    gates = [run.gate.id for run in item.runs]
    if len(gates) != len(set(gates)):
        return "two `runs` are of the same gate"
    return ""


def _whole(item: Labelled) -> Labelled:
    if not any(map(_unread, item.turn.calls)):
        return item
    calls = tuple(
        replace(call, runs=runs(call.command)) if _unread(call) else call for call in item.turn.calls
    )
    return replace(item, turn=replace(item.turn, calls=calls))


def _unread(call: ToolCall) -> bool:
    return call.doing is Doing.RUN and bool(call.command) and not call.runs
