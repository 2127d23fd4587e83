"""A look in bytes, to be kept and read again."""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Struct

from sidecar.adapters.tree.git import UnseenError
from sidecar.adapters.tree.look import Look

VERSION: Final = 1


class _Snapshot(Struct, frozen=True, array_like=True):
    """Msgpack, because paths and contents are bytes."""

    version: int
    tree: str
    standing: dict[bytes, str]
    steering: dict[bytes, bytes]


def encoded(look: Look) -> bytes:
    """Its bytes."""
    return msgspec.msgpack.encode(_Snapshot(VERSION, look.tree, dict(look.standing), dict(look.steering)))


def decoded(data: bytes) -> Look:
    """The look again. Raises UnseenError."""
    try:
        read = msgspec.msgpack.decode(data, type=_Snapshot)
    except msgspec.MsgspecError as error:
        raise UnseenError("what was kept is damaged") from error
    if read.version != VERSION:
        raise UnseenError("what was kept is of another version")
    return Look(tree=read.tree, standing=read.standing, steering=read.steering)
