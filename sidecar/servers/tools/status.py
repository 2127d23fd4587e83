"""Where a session stands: its goal, its budget, and the last verdict in a line."""

from __future__ import annotations

from msgspec import Struct

from sidecar.app.people import Who
from sidecar.servers.tools.reach import Reach
from sidecar.servers.tools.tool import Answer, Call, Nothing, Tool


class Standing(Struct, frozen=True, kw_only=True):
    """Where a session stands. `exit_code`: see ExitCode."""

    session: str
    host: str
    status: str
    exit_code: int
    text: str


def tools(reach: Reach) -> tuple[Tool, ...]:
    """The tool `status`."""

    async def status(call: Call, _given: Nothing) -> Answer:
        report = reach.people.report(Who(session=call.session.key.id, host=call.session.key.host))
        standing = Standing(
            session=report.session,
            host=report.host,
            status=report.status,
            exit_code=report.exit_code,
            text=report.text,
        )
        return Answer(standing, report.text)

    return (
        Tool(
            name="status",
            toolset="core",
            takes=Nothing,
            gives=Standing,
            work=status,
            reads=True,
            repeats=True,
        ),
    )
