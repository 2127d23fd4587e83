"""The orders of people to a team: its lists, limits, the organisation's files, sessions on other machines.

They need the URL of a person's login, which is not kept beside that of the agents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import click
from msgspec.structs import replace

from sidecar.cli.gates import build_gate_services
from sidecar.cli.goal import refuse_agents
from sidecar.cli.printing import echo
from sidecar.cli.rubric import read_valid_rubric
from sidecar.evidence.gates.approvals import add_to_organisation
from sidecar.hosts.shared import checked_session_id
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.settings import ServiceSettings, Settings
from sidecar.kernel.text import clean_line
from sidecar.platform.paths import ORGANISATION_FILES, user_paths
from sidecar.platform.team import membership, ports
from sidecar.platform.team.ports import AT_ONCE, UNITS, Account, TeamOrder, TeamTask, TeamTaskState
from sidecar.platform.team.store import TeamStore
from sidecar.platform.toml import TomlFile, field_error_lines, fit_toml_fields
from sidecar.systems.supervision.team import list_lines
from sidecar.systems.taskloop.plans import parse_plan
from sidecar.systems.taskloop.policy.plan import PlannedTask

PERSON_VARIABLE: Final = "SUPERVISOR_TEAM_PERSON"
KEYRING: Final = "keyring:"
"""What a value begins with that names an entry of the system's keyring."""
ORDERS_GIVEN: Final = "supervisor events --kind order-given"
CONTENT_SHOWN: Final = 60
"""Characters of a task in a list."""

NOTE_SHOWN: Final = 200
"""Characters of what is said of a task there."""
AS_PERSON: Final = click.Option(
    ["--as", "person"], envvar=PERSON_VARIABLE, default="", help=f"URL of your login, or {KEYRING}ENTRY."
)
ORDERS: Final[list[click.Command]] = []
"""The commands of this file, as they are read."""


def joined_membership() -> membership.Membership:
    """Return how this machine joined. Raises ClickException where it did not."""
    if (joined := membership.load_membership(user_paths().state)) is None:
        raise click.ClickException("this machine is in no team\n  - join one: supervisor team join URL")
    return joined


@contextmanager
def _team_of(person: str) -> Iterator[TeamStore]:
    """The team as this person's login sees it. Raises ClickException, OSError."""
    refuse_agents()
    if person.startswith(KEYRING):
        person = membership.find_password(ServiceSettings(keyring=person.removeprefix(KEYRING)))
    if not person:
        raise click.ClickException(
            "a person gives this order, by a login of their own\n"
            f"  - export {PERSON_VARIABLE}=URL (supervisor team invite NAME --person prints it)"
        )
    with closing(membership.open_team_of_login(membership.parse_team_url(person))) as team:
        yield team


def _order(*parameters: click.Parameter) -> Callable[[Callable[..., str]], Callable[..., str]]:
    """Make a command of a function that is given the team and these parameters, and returns what to say."""

    def register(carry_out: Callable[..., str]) -> Callable[..., str]:
        def typed(person: str, **values: object) -> None:
            with _team_of(person) as team:
                echo(carry_out(team, **values))

        name = carry_out.__name__.replace("_", "-")
        about, all_parameters = carry_out.__doc__, [*parameters, AS_PERSON]
        ORDERS.append(click.Command(name, callback=typed, params=all_parameters, help=about))
        return carry_out

    return register


LIST: Final = click.Argument(["list_name"], metavar="LIST")
IDS: Final = click.Argument(["idents"], metavar="ID...", nargs=-1, required=True)
FILE: Final = click.Argument(["file"], type=click.Path(path_type=Path, exists=True))


# --- lists --------------------------------------------------------------------------------------------------


@_order(
    LIST,
    click.Argument(["text"], nargs=-1),
    click.Option(["--check", "checks"], multiple=True, help="A command that must exit with 0. Repeatable."),
    click.Option(["--needs"], multiple=True, metavar="ID", help="A task that comes before. Repeatable."),
    click.Option(["--file"], type=click.Path(path_type=Path, exists=True), help="A plan, as of loop."),
)
def add(  # noqa: PLR0913 - one parameter per option
    team: TeamStore,
    list_name: str,
    text: tuple[str, ...],
    *,
    checks: tuple[str, ...],
    needs: tuple[str, ...],
    file: Path | None,
) -> str:
    """Add a task to LIST, or with --file those of a plan."""
    if bool(text) == bool(file):
        raise click.UsageError("say what is to be done, or name a plan with --file")
    typed = PlannedTask(title=" ".join(text))
    plan = parse_plan(file.read_text("utf-8")) if file else (typed,)
    with team.transaction():
        known = {task.id for task in team.tasks(list_name)}
        if unknown := sorted(set(needs) - known):
            raise click.ClickException(f"{list_name} has no {', '.join(unknown)}\n  - {_see(list_name)}")
        begun = sum(counted.tasks for counted in team.lists() if counted.list == list_name)
        left = [planned for planned in plan if not planned.done]
        ids = {planned.title: f"T{begun + number}" for number, planned in enumerate(left, 1)}
        for planned in left:
            task = TeamTask(
                list=checked_session_id(list_name),
                id=ids[planned.title],
                content="\n".join((planned.content, *(f"- {one}" for one in planned.criteria))),
                checks=(*planned.checks, *checks),
                needs=(*needs, *(ids[title] for title in planned.after if title in ids)),
            )
            if not team.add(task):
                raise click.ClickException("somebody else added a task just now\n  - type it again")
    return f"Added: {', '.join(ids.values())}. To work on it: supervisor run --team {list_name} -- AGENT"


@_order(LIST)
def pause(team: TeamStore, list_name: str) -> str:
    """Give out no more tasks of LIST. Agents at work go on."""
    team.pause(_known_list(team, list_name))
    return f"{list_name} is paused. To go on: supervisor team resume {list_name}"


@_order(LIST)
def resume(team: TeamStore, list_name: str) -> str:
    """Give out tasks of LIST again."""
    team.pause(_known_list(team, list_name), paused=False)
    return f"{list_name} goes on."


@_order(LIST, IDS)
def give_back(team: TeamStore, list_name: str, idents: tuple[str, ...]) -> str:
    """Let tasks be done again, from where their branches are. Whoever works on them stops."""
    return _put(team, list_name, idents, TeamTaskState.OPEN)


@_order(LIST, IDS)
def accept(team: TeamStore, list_name: str, idents: tuple[str, ...]) -> str:
    """Count tasks as merged: you merged them, or they need nothing."""
    return _put(team, list_name, idents, TeamTaskState.MERGED)


@_order(LIST, IDS)
def drop(team: TeamStore, list_name: str, idents: tuple[str, ...]) -> str:
    """Take tasks off LIST. What waits for them waits no longer."""
    return _put(team, list_name, idents, TeamTaskState.DROPPED)


def _put(team: TeamStore, list_name: str, idents: tuple[str, ...], state: TeamTaskState) -> str:
    """Give all of these tasks a state, or none of them."""
    _known_list(team, list_name)
    with team.transaction():
        for ident in idents:
            if not team.put(list_name, ident, state):
                raise click.ClickException(f"{list_name} has no {ident}\n  - {_see(list_name)}")
    return "\n".join(f"{list_name}/{ident} is {state}." for ident in idents)


def _see(list_name: str) -> str:
    return f"see what there is: supervisor team list {list_name}"


def _known_list(team: TeamStore, list_name: str) -> str:
    """Return the name of a list. Raises ClickException where the team has none of that name."""
    known = sorted({one.list for one in team.lists()})
    if list_name not in known:
        there = f"these are there: {', '.join(known)}" if known else "make it: supervisor team add LIST TASK"
        raise click.ClickException(f"there is no list {list_name}\n  - {there}")
    return list_name


@click.command(name="list")
@click.argument("list_name", metavar="[LIST]", default="")
def list_tasks(list_name: str) -> None:
    """Show the tasks of LIST, else how many each list has."""
    with closing(membership.open_team(joined_membership())) as team:
        if not list_name:
            none = "There is no list. Make one: supervisor team add LIST TASK"
            echo("\n".join(list_lines(team.lists())) or none)
            return
        _known_list(team, list_name)
        if team.is_paused(list_name):
            echo(f"{list_name} is paused. To go on: supervisor team resume {list_name}")
        names = {machine.id: machine.name for machine in team.machines()}
        for task in team.tasks(list_name):
            where = names.get(task.machine, task.machine)
            who = f" by {task.person} on {where}" if where else ""
            echo(f"{task.id:<4} {task.state:<8} {clean_line(task.content, CONTENT_SHOWN)}{who}")
            if task.note:
                echo(f"     {clean_line(task.note, NOTE_SHOWN)}")


ORDERS.append(list_tasks)


# --- money, the organisation's files, other machines --------------------------------------------------------


@_order(
    click.Argument(["name"]),
    click.Option(["--cents"], type=click.FloatRange(0), help="Most cents."),
    click.Option(["--tokens"], type=click.IntRange(0), help="Most tokens."),
    click.Option(["--at-once"], type=click.IntRange(0), help="Most calls of the program NAME at once."),
    click.Option(["--daily"], is_flag=True, help="Cents or tokens of each day (UTC)."),
    click.Option(["--lift"], is_flag=True, help="Lift what limits NAME."),
)
def limit(
    team: TeamStore, name: str, *, daily: bool, lift: bool, at_once: int | None, **most: float | None
) -> str:
    """Limit what all may spend (NAME: team), or calls of the program NAME at once."""
    asked = {AT_ONCE + name: at_once, **{ports.WHOLE_TEAM + unit: most[unit] for unit in UNITS}}
    given = [Account(name=one, most=most, daily=daily) for one, most in asked.items() if most is not None]
    if lift and not given:
        return _lift(team, asked if f"{name}/" == ports.WHOLE_TEAM else (AT_ONCE + name,))
    if lift or len(given) != 1 or (at_once is None and f"{name}/" != ports.WHOLE_TEAM):
        raise click.UsageError("type `team --cents N`, `team --tokens N` or `PROGRAM --at-once N`, or --lift")
    team.set_limit(given[0])
    return f"{given[0].name} is limited. How it stands: supervisor team status"


def _lift(team: TeamStore, names: Iterable[str]) -> str:
    limited = [one for one in team.accounts() if one.name in names and one.most is not None]
    if not limited:
        raise click.ClickException("nothing limits that\n  - see what is limited: supervisor team status")
    for account in limited:
        team.set_limit(replace(account, most=None))
    return f"{', '.join(one.name for one in limited)} is limited no more."


@_order(FILE)
def rubric(team: TeamStore, file: Path) -> str:
    """Make FILE the organisation's rubric, which counts where a project has none."""
    return _publish(team, "rubric.md", read_valid_rubric(file))


@_order(FILE)
def settings(team: TeamStore, file: Path) -> str:
    """Make FILE the organisation's config.toml, which counts where a project sets nothing."""
    text = file.read_text("utf-8")
    try:
        read = TomlFile(str(file), text)
    except (ValueError, RecursionError) as error:
        raise BadInputError(f"{file} is no TOML: {error}") from error
    if wrongs := field_error_lines(read, fit_toml_fields(Settings, read.table)[1]):
        raise BadInputError("\n".join(wrongs))
    return _publish(team, "config.toml", text)


@_order(
    click.Argument(["folder"], type=click.Path(exists=True, file_okay=False, resolve_path=True), default=".")
)
def approve(team: TeamStore, folder: str) -> str:
    """Let the commands that you approved in FOLDER, else here, count in all projects of the organisation."""
    approved = build_gate_services().trust.approvals(folder).values()
    if not approved:
        raise click.ClickException("you approved nothing there\n  - see what there is: supervisor trust")
    for approval in approved:
        echo(f"approved: {approval.command}")
    before = team.load(f"{ports.ORGANISATION}trust.json")
    known = add_to_organisation(before.value if before else b"", approved)
    return _publish(team, "trust.json", known.decode())


def _publish(team: TeamStore, name: str, text: str) -> str:
    before = team.load(f"{ports.ORGANISATION}{name}")
    team.save(f"{ports.ORGANISATION}{name}", text.encode(), before.revision if before else 0)
    return f"It counts on each machine within seconds. To take it back: supervisor team withdraw {name}"


@_order(click.Argument(["name"], type=click.Choice(ORGANISATION_FILES)))
def withdraw(team: TeamStore, name: str) -> str:
    """Take a file of the organisation back."""
    team.remove(f"{ports.ORGANISATION}{name}")
    return f"The organisation has no {name} any more."


@_order(
    click.Argument(["machine"]),
    click.Argument(["session"]),
    click.Argument(["text"], nargs=-1, required=True),
)
def order(team: TeamStore, machine: str, session: str, text: tuple[str, ...]) -> str:
    """Give an order to SESSION on MACHINE, as it is typed there: supervisor team order m1 ID goal pause."""
    from sidecar.wiring.team import require_order  # noqa: PLC0415 - seldom needed, and large

    require_order(" ".join(text))
    known = team.machines()
    found = [one for one in known if machine in (one.id, one.name)]
    if len(found) != 1:
        names = ", ".join(f"{one.name} ({one.id})" for one in known) or "none"
        raise click.ClickException(f"{machine} names {len(found)} machines\n  - these are known: {names}")
    team.order(TeamOrder(machine=found[0].id, session=session, text=" ".join(text)))
    name = found[0].name
    return f"{name} takes it within seconds, if its sidecar runs. What came of it, on {name}: {ORDERS_GIVEN}"
