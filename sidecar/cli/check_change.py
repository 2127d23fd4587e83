"""`supervisor check --base REF`: judges a change between commits in a clone, and verifies its statements."""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import click
import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sidecar.cli import change_forms as forms
from sidecar.cli.config import CommandLineFiles
from sidecar.cli.printing import echo, echo_json
from sidecar.evidence.tree.change_source import read_change_source
from sidecar.evidence.tree.workspace import ChangeCopy, GitWorkspace
from sidecar.hosts.ports import RecordedSession
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.evidence import FileBaseline
from sidecar.kernel.goal import CONDITION_LIMIT
from sidecar.platform.files import UnusableFileError, read_whole, write_whole
from sidecar.platform.processes import ProcessResult, find_program, run_process
from sidecar.systems.supervision.changes import KEY, TURN, check_change
from sidecar.systems.supervision.checking import CheckResult, CheckWish
from sidecar.systems.supervision.ports import Services

NAMESPACE: Final = "supervisor"
"""What a signature is for, as `ssh-keygen -Y` names it."""
SIGNING_S: Final = 30.0
STATEMENT_LIMIT: Final = 4 << 20
"""Maximum bytes of a statement."""
EVENT_LIMIT: Final = 32 << 20
"""Maximum bytes of the event of a CI job; GitHub's webhooks have at most 25 MB."""
FILE: Final = click.Path(dir_okay=False, path_type=Path)
KNOWN: Final = click.Path(exists=True, dir_okay=False, path_type=Path)
WRITTEN: Final = {
    "annotations": forms.change_annotations,
    "sarif": forms.change_sarif,
    "junit": forms.change_junit,
    "statement": forms.change_statement,
    "vsa": forms.change_verification_summary,
}
"""What writes the file of an option."""
SIGNED: Final = ("statement", "vsa")
OPTIONS: Final = (
    click.option("--base", default="", metavar="REF", help="Judge the change since this commit instead."),
    click.option("--head", default="", metavar="REF", help="It ends here, else with the files as they are."),
    click.option("--goal-from", type=click.Choice(["pr"]), help="Tell what only its text touches."),
    click.option("--markdown", is_flag=True, help="Print a summary in Markdown."),
    click.option("--annotations", type=FILE, help="Write GitHub's annotations."),
    click.option("--sarif", type=FILE, help="Write the findings as SARIF."),
    click.option("--junit", type=FILE, help="Write them as a JUnit report."),
    click.option("--statement", type=FILE, help="Write an in-toto statement about the tree."),
    click.option("--vsa", type=FILE, help="Write a verification summary of SLSA about the tree."),
    click.option("--sign", type=KNOWN, metavar="KEY", help="Sign them with this SSH key, as FILE.sig."),
    click.option("--verify", type=KNOWN, help="Tell whether a statement is about these files."),
    click.option("--signers", type=KNOWN, help="SSH's allowed signers, one of whom must have signed it."),
    click.option("--unknown-ok", is_flag=True, help="End in 0 where a person should look."),
)

T = TypeVar("T", bound=Callable[..., Any])


class ChangeOptions(Struct, frozen=True, kw_only=True):
    """What was typed; one field per option."""

    base: str
    head: str
    goal_from: str | None
    markdown: bool
    annotations: Path | None
    sarif: Path | None
    junit: Path | None
    statement: Path | None
    vsa: Path | None
    sign: Path | None
    verify: Path | None
    signers: Path | None
    unknown_ok: bool


def change_options(command: T) -> T:
    """Give a command the options of a change."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


async def run_change_check(options: ChangeOptions, wish: CheckWish, *, as_json: bool) -> int:
    """Judge a change, or verify a statement, and return the exit code. Raises BadInputError, OSError."""
    if options.verify:
        return await _verify(options, options.verify)
    if not options.base or (options.sign and not (options.statement or options.vsa)):
        missing = "--statement FILE" if options.base else "--base REF"
        raise BadInputError(f"what was typed needs {missing}, too; see: supervisor check --help")
    if options.goal_from:
        wish = replace(wish, claimed=pull_request_text(os.environ)[:CONDITION_LIMIT])
    async with _opened(options.base, options.head) as (services, change, base):
        checked = await check_change(services, change, base, wish, options.head)
        source = await read_change_source(
            str(Path.cwd()), os.environ, change.began, change.commit, options.head
        )
    checked = replace(checked, source=source)
    if as_json:
        echo_json(checked)
    else:
        echo(forms.change_markdown(checked) if options.markdown else forms.change_text(checked))
    for name, form in WRITTEN.items():
        if path := getattr(options, name):
            content = form(checked)
            write_whole(path, content)
            if options.sign and name in SIGNED:
                write_whole(_signature(path), await _sign(options.sign, content))
    unknown = checked.exit_code == CheckResult.UNKNOWN
    return CheckResult.CLEAR if unknown and options.unknown_ok else checked.exit_code


class PullRequest(Struct, frozen=True):
    """What the author says, as GitHub's event has it."""

    title: str = ""
    body: str | None = None


class PullRequestEvent(Struct, frozen=True):
    """The event by which GitHub started a job; only one of a pull request has its text."""

    pull_request: PullRequest = PullRequest()


def pull_request_text(environment: Mapping[str, str]) -> str:
    """Return title and description of the pull request of this CI job. Raises BadInputError."""
    said = [environment.get(f"CI_MERGE_REQUEST_{name}", "") for name in ("TITLE", "DESCRIPTION")]
    if event := environment.get("GITHUB_EVENT_PATH"):
        try:
            content = read_whole(Path(event), EVENT_LIMIT, follow=True)
            request = msgspec.json.decode(content, type=PullRequestEvent).pull_request
        except (OSError, UnusableFileError, msgspec.DecodeError) as error:
            raise BadInputError(f"{event} is no event of GitHub ({error})") from error
        said = [request.title, request.body or ""]
    if not any(said):
        raise BadInputError(
            "this job is of no pull request: neither the event of GITHUB_EVENT_PATH nor "
            "CI_MERGE_REQUEST_TITLE has its text; leave --goal-from out"
        )
    return "\n".join(said)


@asynccontextmanager
async def _opened(base: str, head: str) -> AsyncIterator[tuple[Services, ChangeCopy, FileBaseline]]:
    """Yield a copy of the files at the end of a change, and its beginning. Raises BadInputError, OSError."""
    from sidecar.wiring.command_line import build_check  # noqa: PLC0415 - help needs none of it
    from sidecar.work.place import open_change  # noqa: PLC0415 - as above

    project = str(Path.cwd().resolve())
    with tempfile.TemporaryDirectory(prefix="supervisor-check-", ignore_cleanup_errors=True) as scratch:
        session = RecordedSession(key=KEY, project=project, began=0, changed=0, turn=TURN)
        services = build_check(session, Path(scratch), CommandLineFiles(), ask=False)
        trees = GitWorkspace(Path(scratch) / "trees")
        async with open_change(trees, project, dict(os.environ), base, head) as opened:
            yield services, *opened


async def _verify(options: ChangeOptions, file: Path) -> int:
    """Say whether a statement is about these files, who signed it, and what it says of them."""
    try:
        content = read_whole(file, STATEMENT_LIMIT)
        said = msgspec.json.decode(content, type=forms.Statement)
    except (UnusableFileError, msgspec.DecodeError) as error:
        raise BadInputError(f"{file} is no in-toto statement of these results ({error})") from error
    signer = "its signature was not looked at: --signers FILE says whose counts"
    if options.signers:
        signer = f"signed by {await _signer(options.signers, file, content)}"
    async with _opened(options.head or "HEAD", options.head) as (_, change, _):
        tree = change.tree
    if tree not in {one.digest.get("gitTree") for one in said.subject}:
        echo(f"✗ it is about other files: those here are the tree {tree}")
        return CheckResult.FOUND
    ruled = said.predicate.result or said.predicate.verification_result
    if ruled is None:
        raise BadInputError(f"{file} has no result")
    result = CheckResult(forms.RESULTS.index(ruled))
    echo(f"{forms.MARKS[result]}: {ruled} for the tree {tree}; {signer}")
    return result


async def _sign(key: Path, content: bytes) -> bytes:
    signed = await _ssh_keygen(("sign", "-f", str(key)), content)
    if signed.exit_code != 0:
        raise BadInputError(f"the statement could not be signed: {_said(signed)}")
    return signed.output


async def _signer(signers: Path, file: Path, content: bytes) -> str:
    """Return which of the allowed signers signed a statement. Raises BadInputError where none did."""
    if not _signature(file).is_file():
        raise BadInputError(f"{file} is not signed: there is no {_signature(file).name} beside it")
    files = ("-f", str(signers), "-s", str(_signature(file)))
    found = await _ssh_keygen(("find-principals", *files))
    name = found.output.decode("utf-8", "replace").partition("\n")[0]
    checked = await _ssh_keygen(("verify", *files, "-I", name), content)
    if found.exit_code != 0 or checked.exit_code != 0:
        raise BadInputError(f"none of the allowed signers signed {file}: {_said(found) or _said(checked)}")
    return name


async def _ssh_keygen(order: tuple[str, ...], stdin: bytes = b"") -> ProcessResult:
    here = os.getcwd()  # noqa: PTH109 - a path for a process
    program = find_program("ssh-keygen", os.environ, here)
    if not program:
        raise BadInputError("there is no program ssh-keygen on PATH: install OpenSSH's client")
    command = (program, "-Y", *order, "-n", NAMESPACE)
    return await run_process(
        command, cwd=here, environment=os.environ, seconds=SIGNING_S, stdin=stdin, separate=True
    )


def _said(done: ProcessResult) -> str:
    return done.reason or (done.errors or done.output).decode("utf-8", "replace").strip()


def _signature(statement: Path) -> Path:
    return statement.with_name(f"{statement.name}.sig")
