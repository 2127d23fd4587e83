"""What the installers of hosts share: the steps of an installation, and what `supervisor doctor` finds."""

from __future__ import annotations

import shlex
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import ClassVar, Final

from msgspec import Struct

from sidecar.hosts.host_program import HostProgram
from sidecar.platform.installation import HostError, is_newer_version
from sidecar.platform.processes import ProcessEnding

RUBRIC_EDITOR: Final = "--with-rubric-editor"
STATUS_LINE: Final = "--status-line"
UPGRADE: Final = "supervisor upgrade"
PROBE_SECONDS: Final = 60.0
VERSION_SECONDS: Final = 30.0


class Steps(Struct, frozen=True):
    """Says each step and does it; with `print_only` none is done."""

    print_only: bool
    say: Callable[[str], None]

    def do(self, step: str, work: Callable[..., object], *given: object) -> None:
        """Say a step, and do it; what `work` returns is said below it."""
        self.say(step)
        if not self.print_only and (said := work(*given)):
            self.say(f"  {said}")


@contextmanager
def report_write_errors(folder: Path) -> Iterator[None]:
    """Raise HostError for an OSError inside: `folder` cannot be written."""
    try:
        yield
    except OSError as error:
        raise HostError(
            f"{folder} cannot be written: {error.strerror or error}",
            f"look at it: ls -ld {folder}",
            "or see only what would be done: add --print-only",
        ) from None


class InstallOrder(Struct, frozen=True, kw_only=True):
    """What is put into a host. `scope`: "user" or "project". `runtime`: the command that starts the sidecar.

    `prepare` records the runtime; an installer calls it when the host is known to take what it gets.
    `options` holds RUBRIC_EDITOR and STATUS_LINE where they were typed. `renew`: what is there is brought to
    the version of this command. `agree` asks the user a question, to be answered yes or no.
    """

    scope: str
    runtime: Path
    prepare: Callable[[], None]
    options: frozenset[str] = frozenset()
    renew: bool = False
    agree: Callable[[str], bool] = lambda _: False


class HostInstaller(ABC):
    """Puts Supervisor into one host and takes it out again, and finds what is wrong with it there.

    `name` is the host's in session keys, `title` for people; `command` is its program, `get` how to install
    it, and `typed` an order as a person types it there. `lends_model`: the session's own model judges.
    `refused`: options of an install that it has no use for, and why. `tested`: the oldest version that the
    real-host tests run; an older one is a warning, with what to type to `update`. `probed`: the arguments
    with which the program carries out a command of ours that needs no model request, and `probe_variables`
    what it needs beside them in its environment.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    command: ClassVar[str]
    get: ClassVar[str]
    typed: ClassVar[str] = "/supervisor:goal all tests pass"
    lends_model: ClassVar[bool] = False
    refused: ClassVar[Mapping[str, str]] = {}
    tested: ClassVar[str]
    update: ClassVar[str]
    probed: ClassVar[tuple[str, ...]] = ()
    probe_variables: ClassVar[Mapping[str, str]] = {}

    def __init__(self, environment: Mapping[str, str], project: Path) -> None:
        """Look the program up on PATH, outside of `project`."""
        self.environment, self.project = environment, project
        self.program = HostProgram(self.title, self.command, environment, str(project))

    @property
    def install_command(self) -> str:
        """What a person types to install."""
        return f"supervisor install {self.name}"

    @abstractmethod
    def put(self, order: InstallOrder, steps: Steps) -> None:
        """Install. Raises HostError."""

    @abstractmethod
    def take(self, scope: str, steps: Steps) -> bool:
        """Take what is there out of one scope; return whether the host has nothing else of ours.

        Raises HostError.
        """

    def scopes(self) -> tuple[str, ...]:
        """Return the scopes in which it is installed for this project. Raises HostError."""
        return ("user",) if self.present() else ()

    @abstractmethod
    def present(self) -> bool:
        """Return whether files show that it is installed for this project; no process is started."""

    def holds(self) -> bool:
        """Return whether it is installed in any place, so that the runtime must stay."""
        return self.present()

    def leftovers(self) -> tuple[Path, ...]:
        """Return folders of ours that the host keeps after an uninstall."""
        return ()

    @abstractmethod
    async def examine(self, *, needed: bool) -> HostFindings:
        """Check version, plugin and hooks. `needed`: no other host has our plugin. Raises OSError."""

    async def probe(self) -> DoctorFinding:
        """Make a real call through host, hooks, relay and sidecar, without a model request."""
        variables = {**self.environment, **self.probe_variables}
        host = HostProgram(self.title, self.command, variables, str(self.project))
        with tempfile.TemporaryDirectory(prefix="supervisor-probe-") as empty:
            folder = empty if self.is_everywhere() else ""
            said = await host.result(*self.probed, seconds=PROBE_SECONDS, folder=folder)
        text = (said.output + said.errors).decode(errors="replace")
        if "budget of" in text:
            done = "answers: a typed command reached the sidecar, without a model request"
            return ok_finding(f"{self.title} {done}")
        failed = f"does not carry out our commands: {' '.join(text.split())[:200] or 'no answer'}"
        late = said.ending is ProcessEnding.TIMED_OUT
        told = "did not answer the probe in time" if late else failed
        return error_finding(f"{self.title} {told}", f"{self.command} {' '.join(self.probed)}")

    def is_everywhere(self) -> bool:
        """Return whether the host loads our plugin in any folder, so that a probe needs no project."""
        return True

    # --- what hosts have in common

    def needs_user_scope(self, scope: str) -> None:
        """Raise HostError for a scope that a host does not have which knows plugins of a user only."""
        if scope != "user":
            raise HostError(f"{self.title} takes the plugin for a user only", self.install_command)

    def run_each(self, orders: Iterable[tuple[str, ...]], steps: Steps) -> None:
        """Run the program with each of these arguments; the last line that it prints is said."""
        for order in orders:
            steps.do(shlex.join((self.command, *order)), self.program.last_line, *order)

    async def version_finding(self) -> DoctorFinding:
        """Whether the program is there, and not older than what is tested."""
        if not self.program.path:
            return warning_finding(f"{self.title} is not on PATH", self.get)
        said = (await self.program.result("--version", seconds=VERSION_SECONDS)).output
        words = self.version_line(said.decode(errors="replace").strip()).split()
        number = next((word[:40].rstrip(".") for word in words if word[0].isdigit()), "")
        if not is_newer_version(self.tested, number):
            return ok_finding(f"{self.title} {number}")
        older = f"{self.title} {number or '?'} is older than what is tested ({self.tested})"
        return warning_finding(older, self.update)

    def version_line(self, said: str) -> str:
        """Return the line of what `--version` printed that names the version."""
        return said.rpartition("\n")[2]

    def missing_finding(self, *, needed: bool) -> DoctorFinding:
        """That our plugin is not there."""
        missing = f"the plugin is not installed in {self.title}"
        return problem_finding(missing, self.install_command, needed=needed)


# --- What doctor finds --------------------------------------------------------------------------------------


class FindingLevel(StrEnum):
    """How serious a finding is."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


class DoctorFinding(Struct, frozen=True):
    """One finding. `remedy` is what to type, empty where all is well."""

    level: FindingLevel
    what: str
    remedy: str = ""


class HostFindings(Struct, frozen=True):
    """The findings for one host, and checks that the caller may run later.

    `probe` makes a real call; None without our plugin, because a model would answer then. `server` is the
    command by which this host would start the tools' server; empty where it would start none.
    """

    lines: tuple[DoctorFinding, ...]
    probe: Callable[[], Awaitable[DoctorFinding]] | None = None
    server: Sequence[str] = ()
    title: str = ""


def ok_finding(what: str) -> DoctorFinding:
    """A finding for something that works."""
    return DoctorFinding(FindingLevel.OK, what)


def warning_finding(what: str, remedy: str) -> DoctorFinding:
    """A finding for something that works, but not as it should."""
    return DoctorFinding(FindingLevel.WARNING, what, remedy)


def error_finding(what: str, remedy: str) -> DoctorFinding:
    """A finding for something that does not work."""
    return DoctorFinding(FindingLevel.ERROR, what, remedy)


def problem_finding(what: str, remedy: str, *, needed: bool) -> DoctorFinding:
    """A finding for something that does not work: an error where it is needed, else a warning."""
    return DoctorFinding(FindingLevel.ERROR if needed else FindingLevel.WARNING, what, remedy)


def tools_command(root: Path) -> tuple[str, ...]:
    """The command by which a host starts the tools' server of a plugin in the folder `root`."""
    return ("python3", "-I", "-S", str(root / "hooks" / "mcp.py"))
