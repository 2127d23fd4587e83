"""Clients of the tools that may do everything."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from sidecar.kernel.session import Session, SessionKey


class AnyClient(msgspec.Struct, frozen=True):
    """Implements tool.Clients: each process may call for each session that `find` returns, and ask."""

    find: Callable[[str, SessionKey | None], Session | None]

    def session(self, ident: str, key: SessionKey | None) -> Session | None:
        return self.find(ident, key)

    def serves(self, pid: int, key: SessionKey) -> bool:  # noqa: ARG002 - the port's
        return True

    def may_ask(self, pid: int, session: Session, tool: str, *, person: bool) -> bool:  # noqa: ARG002 - the port's
        return True
