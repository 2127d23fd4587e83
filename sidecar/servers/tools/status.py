"""The tool `status`: a session's goal, its budget, and the last verdict in one line."""

from __future__ import annotations

from msgspec import Struct

from sidecar.servers.tools.tool import NoArguments, Tool, ToolAnswer, ToolContext, ToolInvocation
from sidecar.systems.supervision.people import SessionSelector


class SessionStatus(Struct, frozen=True, kw_only=True):
    """The status of a session. `exit_code`: see ExitCode."""

    session: str
    host: str
    status: str
    exit_code: int
    text: str


def tools(context: ToolContext) -> tuple[Tool, ...]:
    """Return the tool `status`."""

    async def status(call: ToolInvocation, _given: NoArguments) -> ToolAnswer:
        report = context.people.report(
            SessionSelector(session=call.session.key.id, host=call.session.key.host)
        )
        standing = SessionStatus(
            session=report.session,
            host=report.host,
            status=report.status,
            exit_code=report.exit_code,
            text=context.checks.mask(call.session)(report.text),
        )
        return ToolAnswer(standing, standing.text)

    return (Tool(name="status", toolset="core", gives=SessionStatus, work=status, reads=True),)
