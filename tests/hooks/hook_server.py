"""A runtime for tests: serves hooks that say who answered, and dies where an event tells it to."""

from __future__ import annotations

import json
import os
import signal
import sys

from msgspec import Raw, Struct

from sidecar.adapters.client import Client
from sidecar.adapters.paths import of_user
from sidecar.servers import wire
from sidecar.servers.control import Control, Methods, Peer
from sidecar.servers.serve import Life, serve


class Event(Struct):
    die: int = 0


class Call(Struct):
    event: Event


def build(control: Control) -> Methods:
    async def hook(params: Raw, _peer: Peer) -> bytes:
        if wire.read(params, Call).event.die == control.pid:
            os.kill(control.pid, signal.SIGKILL)
        return json.dumps({"systemMessage": f"hook of {control.pid}"}).encode()

    return {"hook": hook}


if __name__ == "__main__":
    paths = of_user()
    paths.prepare()
    sys.exit(serve(Life(paths.run, paths.log, "0.1.0", build), lambda: Client(paths).greet()))
