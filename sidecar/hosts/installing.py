"""What the installers of hosts share: the steps of an installation, and what `supervisor doctor` finds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import ClassVar, Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.hosts.host_program import HostProgram
from sidecar.platform.installation import is_newer_version
from sidecar.platform.processes import ProcessEnding, ProcessResult

RUBRIC_EDITOR: Final = "--with-rubric-editor"
STATUS_LINE: Final = "--status-line"
UPGRADE: Final = "supervisor upgrade"
PROBE_SECONDS: Final = 60.0


class Steps(Struct, frozen=True):
    """Says each step and does it; with `print_only` none is done."""

    print_only: bool
    say: Callable[[str], None]

    def do(self, step: str, work: Callable[..., object], *given: object) -> None:
        """Say a step, and do it; what `work` returns is said below it."""
        self.say(step)
        if not self.print_only and (said := work(*given)):
            self.say(f"  {said}")


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
    `refused`: options of an install that it has no use for, and why.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    command: ClassVar[str]
    get: ClassVar[str]
    typed: ClassVar[str] = "/supervisor:goal all tests pass"
    lends_model: ClassVar[bool] = False
    refused: ClassVar[Mapping[str, str]] = {}

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

    @abstractmethod
    def scopes(self) -> tuple[str, ...]:
        """Return the scopes in which it is installed for this project. Raises HostError."""

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


def version_finding(host: str, said: bytes, tested: str, update: str) -> DoctorFinding:
    """The version that a host reports; a warning where it is older than `tested`, the oldest tested one."""
    last = said.decode(errors="replace").strip().rpartition("\n")[2]
    number = last.split(" ")[0][:40]
    if not is_newer_version(tested, number):
        return ok_finding(f"{host} {number}")
    return warning_finding(f"{host} {number or '?'} is older than what is tested ({tested})", update)


def probe_finding(
    said: ProcessResult, fine: str, late: DoctorFinding, failed: DoctorFinding
) -> DoctorFinding:
    """What a host said to `/supervisor:retry`, which names the budget without a model request."""
    text = said.output.decode(errors="replace")
    if "budget of" in text:
        return ok_finding(fine)
    if said.ending is ProcessEnding.TIMED_OUT:
        return late
    why = " ".join((text or said.errors.decode(errors="replace")).split())[:200]
    return replace(failed, what=f"{failed.what}: {why or 'no answer'}")
