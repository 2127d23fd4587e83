"""Builds what all commands and systems share: the platform, what tells evidence, and readers of rubrics."""

# ruff: noqa: PLC0415 - an adapter is imported when it is first used

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from sidecar.evidence.gates.approvals import TRUST_FILE, InstructionRegistry, TrustFile
from sidecar.evidence.ports import (
    EvidenceServices,
    GateCatalog,
    OldChecks,
    TreeCheckpoints,
    Workspace,
)
from sidecar.kernel.decoding import InstructionKind
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.rubric import Rubric
from sidecar.kernel.session import Environment
from sidecar.platform.configuration import (
    ConfigurationFile,
    ancestor_settings_file,
    describe_gates_edit,
    read_project_gates,
    user_config_file,
    user_config_folder,
)
from sidecar.platform.event_log import EventLogFile
from sidecar.platform.held_edits import HeldEdits
from sidecar.platform.installation import plugin_root
from sidecar.platform.log_readings import DailySpending, StopHistory
from sidecar.platform.paths import ORGANISATION_FILES, SHARE_FILE, TEAM_FOLDER, Paths
from sidecar.platform.ports import SystemClock, built_on_use
from sidecar.platform.process_table import ProcessTable
from sidecar.platform.secrets import SecretForms
from sidecar.platform.services import PlatformServices
from sidecar.platform.session_store import JournalFiles, LoopFiles, SessionFiles
from sidecar.platform.slots import WorkSlots
from sidecar.platform.state import Incidents
from sidecar.platform.steering import PROJECT_CONFIGURATION, FilesInForce, SteeringKind
from sidecar.platform.switches import SWITCH_FILE, SwitchFile
from sidecar.rubric.reader import RubricFiles, rubric_kind, rubric_places
from sidecar.wiring.hosts import (
    HOST_KINDS,
    HOST_VARIABLES,
    project_host_settings,
    user_host_settings,
)

if TYPE_CHECKING:
    from sidecar.evidence.code_host import CodeHost
    from sidecar.evidence.gates.batch import ProjectGates
    from sidecar.platform.ports import EventLog

T = TypeVar("T")
CACHED: Final = 64
"""Projects whose places are remembered."""

FOLDER_VARIABLES: Final = ("HOME", "XDG_CONFIG_HOME", *HOST_VARIABLES)
"""Variables of a session that decide where its files are that steer."""
STEERING_KINDS: Final = {
    "config.toml": SteeringKind(faults=lambda _: ConfigurationFile(os.environ).load()[1]),
    PROJECT_CONFIGURATION: SteeringKind(
        describe=describe_gates_edit, faults=lambda path: read_project_gates(str(path.parents[1])).problems
    ),
    **HOST_KINDS,
    "rubric.md": rubric_kind(),
    "runtime": SteeringKind(restore=lambda _, force: force),
}
"""How files steer, by their name, or by folder and name; others steer with their whole text."""


def build_steering(state: Path, incidents: Incidents | None = None) -> HeldEdits:
    """Build what knows the files that steer. `state`: the user's state folder."""
    own = {name: state / name for name in (TRUST_FILE, SWITCH_FILE)} | user_host_settings(os.environ)
    own |= {f"organisation's {name}": state / TEAM_FOLDER / name for name in ORGANISATION_FILES}
    own |= {"runtime": Paths(state=state, config=state).runtime, "default rubric": default_rubric()}
    if configuration := user_config_file(os.environ):
        own[configuration.name] = configuration
        own |= {
            f"{kind.folder}/*.md": configuration.with_name(kind.folder) / "*.md" for kind in InstructionKind
        }
    if ancestor := ancestor_settings_file(os.environ):
        own[ancestor.name] = ancestor
    return HeldEdits(state, own, steering_places, STEERING_KINDS, incidents or Incidents())


def steering_places(project: str, environment: Environment) -> tuple[Path, ...]:
    """Return where files are that steer in a project, for a session with this environment."""
    named = environment or os.environ
    return _steering_places(project, *(named.get(name, "") for name in FOLDER_VARIABLES))


@lru_cache(maxsize=CACHED)
def _steering_places(project: str, *folders: str) -> tuple[Path, ...]:
    environment, root = dict(zip(FOLDER_VARIABLES, folders, strict=True)), Path(project)
    rubrics = [place.path for place in rubric_places(project, environment, default_rubric())][:-1]
    own = (root / PROJECT_CONFIGURATION, *project_host_settings(root, environment))
    return (*rubrics, *(own if root.is_absolute() else ()))


def build_platform(state: Path, files: FilesInForce | None = None) -> PlatformServices:
    """Build the real adapters. `state`: the user's state folder.

    `files` tells a process beside the sidecar what is in force.
    """
    clock, incidents = SystemClock(), Incidents()
    steering = build_steering(state, incidents)
    configuration = ConfigurationFile(os.environ, files or steering)
    log = EventLogFile(state, clock, lambda: configuration.load()[0].log, incidents)
    return PlatformServices(
        clock=clock,
        configuration=configuration,
        incidents=incidents,
        journals=JournalFiles(state, incidents),
        log=log,
        loops=LoopFiles(state, incidents),
        processes=ProcessTable(),
        secrets=SecretForms(),
        spending=DailySpending(log, clock, incidents, partial(team_refusal, state)),
        stop_history=StopHistory(log),
        store=SessionFiles(state, incidents),
        steering=steering,
        switches=SwitchFile(state, files or steering),
    )


def team_refusal(state: Path, log: EventLog) -> str:
    """Say why the team lets nothing more be spent on this machine, "" where it does, or none was joined."""
    if not (state / SHARE_FILE).exists():
        return ""
    from sidecar.platform.team.money import share_refusal

    return share_refusal(state, log)


# --- evidence -----------------------------------------------------------------------------------------------


def build_evidence(
    state: Path, platform: PlatformServices, files: FilesInForce | None = None
) -> EvidenceServices:
    """Build the real adapters, each when it is first used. `files`: others in force than the platform's."""
    files = files or platform.steering
    code_host, workspace = built_on_use(_code_host), built_on_use(partial(build_workspace, state))
    slots = WorkSlots(state / "run" / "checks", platform.configuration, platform.clock)
    gates = built_on_use(partial(_gates, workspace, code_host, slots))
    return EvidenceServices(
        **vars(platform),
        catalog=built_on_use(partial(_catalog, state, files, code_host)),
        checkpoints=built_on_use(partial(_checkpoints, state)),
        gates=gates,
        old_checks=built_on_use(partial(_old_checks, workspace, gates)),
        workspace=workspace,
    )


def _catalog(state: Path, files: FilesInForce, code_host: CodeHost) -> GateCatalog:
    from sidecar.evidence.detection.detect import detect_gates
    from sidecar.evidence.gates.catalog import ProjectCatalog

    return ProjectCatalog(os.environ, TrustFile(state, files), detect_gates, code_host, files)


def _checkpoints(state: Path) -> TreeCheckpoints:
    from sidecar.evidence.tree.checkpoints import GitCheckpoints

    return GitCheckpoints(state)


def _code_host() -> CodeHost:
    from sidecar.evidence.code_host import CodeHost

    return CodeHost()


def _gates(workspace: Workspace, code_host: CodeHost, slots: WorkSlots) -> ProjectGates:
    from sidecar.evidence.gates.batch import ProjectGates

    return ProjectGates(workspace=workspace, code_host=code_host, slots=slots)


def _old_checks(workspace: Workspace, gates: ProjectGates) -> OldChecks:
    from sidecar.evidence.proof.old_checks import ScratchChecks

    return ScratchChecks(workspace, gates.memory, gates.slots)


def build_workspace(state: Path) -> Workspace:
    """Build what looks at projects. `state`: the user's state folder."""
    from sidecar.evidence.tree.workspace import GitWorkspace

    return GitWorkspace(state / "trees")


def build_instructions(
    kind: InstructionKind, parse: Callable[[str, str], T], state: Path, files: FilesInForce
) -> InstructionRegistry[T]:
    """Build the registry of one kind of instructions. `state`: the user's state folder."""
    user = user_config_folder(os.environ)
    parents = (plugin_root() / "rubric", *((user,) if user else ()))
    return InstructionRegistry(kind, parse, parents, TrustFile(state, files).approved, files)


# --- rubrics ------------------------------------------------------------------------------------------------


def build_rubrics(files: FilesInForce) -> RubricFiles:
    """Build the store of rubrics. `files` tells what of them is in force."""
    return RubricFiles(default_rubric(), os.environ, files)


def load_rubric_file(path: Path) -> Rubric:
    """Load the rubric from this file. Raises BadInputError where it cannot be used."""
    return _usable(RubricFiles(path).load("", {}))


def load_project_rubric(project: str) -> Rubric:
    """Load a project's rubric from its file as it is now; an edit that is held counts here.

    Raises BadInputError where a file with precedence cannot be used.
    """
    return _usable(RubricFiles(default_rubric(), os.environ).load(project, os.environ))


def default_rubric() -> Path:
    """Return the packaged rubric."""
    return plugin_root() / "rubric" / "rubric.md"


def _usable(rubric: Rubric) -> Rubric:
    if rubric.rejected:
        raise BadInputError("; ".join(rubric.rejected))
    return rubric
