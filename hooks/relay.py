"""The relay of hosts that start a process per event: the event in, one line to the sidecar, its answer out.

Arguments: its path, Claude Code's name of the event, longest silence and wait (seconds), the host, and what
the form of its answers asks for: `warn` where it shows only what a hook warns of; or what cold.py says at
this event in that form, JSON with %s for the words. It decides nothing, imports little, prints one JSON
object or nothing, and ends with 0. cold.py does the rest.
"""

import posix
import sys
from time import monotonic

try:  # private names of CPython, at a fraction of the public ones' cost
    from _json import encode_basestring_ascii as quote
    from _socket import AF_UNIX, SO_SNDTIMEO, SOCK_STREAM, SOL_SOCKET, socket
except ImportError:
    from json.encoder import encode_basestring_ascii as quote
    from socket import AF_UNIX, SO_SNDTIMEO, SOCK_STREAM, SOL_SOCKET, socket  # type: ignore[assignment]

INPUT_LIMIT = 4 << 20  # bytes
CALL = b'{"jsonrpc":"2.0","id":1,"method":"hook","params":{"event":%b,%b}}\n'
ABOUT = '"host":"%s","version":"0.3.0","host_pid":%d,"environment":{%s}'
ANSWER = b'{"jsonrpc":"2.0","id":1,"result":'
NOTICE = b'{"jsonrpc":"2.0","method":"'


def _cold(name: str, *arguments: object) -> bytes:
    sys.path.append(sys.argv[1].rpartition("/")[0])
    import cold  # noqa: PLC0415 - 10 ms that only trouble has to pay

    answer: bytes = getattr(cold, name)(*arguments)
    return answer


def _ask(event: bytes, state: bytes, silence: float, end: float) -> bytes:
    if not 0 < len(event) <= INPUT_LIMIT:
        raise ValueError("the event is empty or larger than 4 MiB")
    pairs = [[quote(text.decode("utf-8", "replace")) for text in pair] for pair in posix.environ.items()]
    about = ABOUT % (sys.argv[5], posix.getppid(), ",".join([":".join(pair) for pair in pairs]))
    posix.chdir(state + b"/run")  # from here the name is short: a socket's path may have 108 bytes
    link, received = socket(AF_UNIX, SOCK_STREAM), b""
    wait = max(0.001, min(silence, end - monotonic()))
    link.setsockopt(SOL_SOCKET, SO_SNDTIMEO, (int(wait) + 1).to_bytes(8, sys.byteorder) + bytes(8))
    link.connect("sidecar.sock")  # the kernel waits for a place in a full queue; with settimeout it would not
    link.settimeout(wait)
    if sys.platform == "linux":  # another process may have taken the socket's place
        pid = int.from_bytes(link.getsockopt(SOL_SOCKET, 17, 12)[:4], sys.byteorder)  # SO_PEERCRED
        if posix.read(posix.open("sidecar.lock", posix.O_NONBLOCK), 20).strip() != b"%d" % pid:
            raise ValueError(f"process {pid} answers in its place")
    link.sendall(CALL % (event.replace(b"\n", b" "), about.encode()))
    while True:
        while b"\n" not in received:
            link.settimeout(max(0.001, min(silence, end - monotonic())))
            chunk = link.recv(1 << 20)
            if not chunk:
                raise ConnectionResetError("the sidecar hung up")
            received += chunk
        line, _, received = received.partition(b"\n")
        if line.startswith(ANSWER + b"{") and line.endswith(b"}}"):
            return line[len(ANSWER) : -1]
        if line.startswith(NOTICE + b'replace"'):
            _cold("renew", state)
        elif not line.startswith(NOTICE):
            raise ValueError(line)


def main() -> None:
    """Relay one event."""
    foreign = b"COPILOT_HOOK_DIR" in posix.environ and sys.argv[5] != "copilot"  # it runs others' hooks, too
    if foreign or b"SUPERVISOR_WORKER" in posix.environ or b"SUPERVISOR_PROXIED" in posix.environ:
        return
    home = posix.environ.get(b"XDG_STATE_HOME", b"")
    state = home if home[:1] == b"/" else posix.environ.get(b"HOME", b"") + b"/.local/state"
    event = sys.stdin.buffer.read(INPUT_LIMIT + 1)
    arguments = event, state + b"/supervisor", float(sys.argv[3]), monotonic() + float(sys.argv[4])
    try:
        answer = _ask(*arguments)
    except Exception as trouble:
        answer = _cold("rescue", _ask, arguments, trouble)
    sys.stdout.buffer.write(answer)
    sys.stdout.flush()
    if sys.argv[6:] == ["warn"] and b'"systemMessage"' in answer:
        _cold("warn", answer)


try:
    main()
finally:
    posix._exit(0)  # noqa: SLF001 - a public function
