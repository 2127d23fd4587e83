"""`supervisor team`: makes a team's database, and joins and leaves it. Orders to a team: team_orders.py."""

from __future__ import annotations

import getpass
import platform
import secrets
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import click
from msgspec import Struct

from sidecar import __version__
from sidecar.cli.goal import refuse_agents
from sidecar.cli.link import session_reference
from sidecar.cli.printing import echo, echo_json, local_time
from sidecar.cli.team_orders import ORDERS, PERSON_VARIABLE, joined_membership
from sidecar.kernel.limits import ServiceLimit
from sidecar.kernel.settings import ServiceSettings
from sidecar.kernel.text import counted
from sidecar.platform.client import SidecarClient
from sidecar.platform.event_log import EventLogFile
from sidecar.platform.paths import user_paths
from sidecar.platform.ports import SystemClock
from sidecar.platform.team import membership, ports, shipper, trial_server
from sidecar.platform.team.postgres import AGENT_ROLE, PERSON_ROLE, PostgresDatabase, TeamCheck
from sidecar.platform.team.store import ListCount, TeamStore
from sidecar.systems.supervision.people import SessionReport
from sidecar.systems.supervision.team import list_lines, slots_line

ADMIN_URL: Final = click.argument("url", envvar="SUPERVISOR_TEAM_ADMIN")
FOLDER: Final = click.option(
    "--folder",
    type=click.Path(path_type=Path, resolve_path=True),
    default=trial_server.default_folder,
    help="Where its data is.",
)


class TeamStatus(Struct, frozen=True, kw_only=True):
    """What `team status` tells. `away` says why the database cannot be used; the rest is empty then."""

    joined: membership.Membership
    away: str = ""
    found: TeamCheck | None = None
    waiting: int = 0
    machines: tuple[ports.Machine, ...] = ()
    lists: tuple[ListCount, ...] = ()
    accounts: tuple[ports.Account, ...] = ()
    limits: tuple[ServiceLimit, ...] = ()


@click.group()
def team() -> None:
    """Share tasks, money and the log with other machines, by a PostgreSQL.

    To try it on this machine: supervisor team up
    """


for order in ORDERS:
    team.add_command(order)


# --- the database -------------------------------------------------------------------------------------------


@team.command()
@FOLDER
def up(folder: Path) -> None:
    """Start a PostgreSQL for trying a team on this machine, and say what to type next."""
    refuse_agents()
    server = trial_server.TrialServer(folder)
    if server.exists():
        server.start()
        echo(f"It runs, with the logins that it had: {folder}")
        echo("Where these are lost, begin anew, without its data: supervisor team down --remove")
        return
    try:
        password = server.make()
        url = membership.url_of_login(server.start(), trial_server.ADMINISTRATOR, password)
        with _database(url) as database:
            database.init()
        echo(f"A PostgreSQL for trying runs in {folder}. To end it: supervisor team down")
        for person in (False, True):
            _invite(url, getpass.getuser(), person=person)
    except BaseException:
        server.remove()
        raise
    echo(f"Others get logins by:\n  supervisor team invite NAME '{url}'")


@team.command()
@FOLDER
@click.option("--remove", is_flag=True, help="Remove its data, too.")
def down(folder: Path, *, remove: bool) -> None:
    """End the PostgreSQL that `team up` started."""
    refuse_agents()
    server = trial_server.TrialServer(folder)
    if not server.exists():
        raise click.ClickException(f"{folder} has no PostgreSQL\n  - start one: supervisor team up")
    (server.remove if remove else server.stop)()
    echo("It is gone." if remove else "It ended and keeps its data. To go on: supervisor team up")


@team.command()
@ADMIN_URL
def init(url: str) -> None:
    """Make what a team needs in the database of an administrator's URL, or bring it to this version.

    URL may be in SUPERVISOR_TEAM_ADMIN instead.
    """
    refuse_agents()
    with _database(url) as database:
        database.init()
        echo(f"The database is ready (schema {database.version()}). Next: supervisor team invite NAME URL")


@team.command()
@click.argument("name")
@ADMIN_URL
@click.option("--person", is_flag=True, help="For the person's own orders, and not for machines with agents.")
def invite(name: str, url: str, *, person: bool) -> None:
    """Make a login for the agents of NAME, and print once what they type.

    URL is an administrator's; it may be in SUPERVISOR_TEAM_ADMIN instead.
    """
    refuse_agents()
    _invite(url, name, person=person)


@contextmanager
def _database(url: str) -> Iterator[PostgresDatabase]:
    parsed = membership.parse_team_url(url)
    with closing(PostgresDatabase(parsed.url, parsed.password)) as database:
        yield database


def _invite(url: str, name: str, *, person: bool) -> None:
    """Make a login, and print what is typed with it. Its password is kept nowhere else."""
    login, password = name if person else name + membership.AGENTS_SUFFIX, secrets.token_urlsafe(24)
    with _database(url) as database:
        database.make_login(login, PERSON_ROLE if person else AGENT_ROLE, password)
    made = membership.url_of_login(url, login, password)
    if person:
        echo(f"Orders of {name} need, in a shell without agents:\n  export {PERSON_VARIABLE}='{made}'")
    else:
        echo(f"A machine with agents of {name} joins by:\n  supervisor team join '{made}'")


# --- this machine -------------------------------------------------------------------------------------------


@team.command()
@click.argument("url")
@click.option("--name", default=platform.node, help="What people call this machine, else its host name.")
@click.option("--key-env", default="", help="The password is in this variable, also where the sidecar runs.")
@click.option("--key-file", default="", help="The password is in this file, which is yours alone.")
@click.option("--keyring", default="", help="The password is in this entry of the system's keyring.")
def join(url: str, name: str, **place: str) -> None:
    """Join the team of URL, which `supervisor team invite` printed.

    A password in it is kept in a file of yours alone.
    """
    refuse_agents()
    user_paths().prepare()
    state, parsed, key = user_paths().state, membership.parse_team_url(url), ServiceSettings(**place)
    if (known := membership.load_membership(state)) is not None:
        raise click.ClickException(
            f"this machine is in a team already, as {known.name}\n  - how it stands: supervisor team status\n"
            "  - to join another, first: supervisor team leave"
        )
    person = membership.login_person(parsed.login)
    before = EventLogFile(state, SystemClock()).last()  # what happened so far is not the team's
    new = membership.Membership(url=parsed.url, name=name, person=person, key=key, ahead=-before)
    joined = membership.new_machine(state, new)
    with closing(PostgresDatabase(parsed.url, parsed.password or membership.find_password(key))) as database:
        found = database.check()
        if objection := found.objection():
            raise click.ClickException(f"this machine did not join: {objection}")
        membership.save_membership(state, joined, parsed.password)
        TeamStore(database, joined.member).join(joined.sign_of_life(__version__))
    echo(f"This machine's clock is {found.clock_note}.")
    echo(f"This machine is in the team as {name}, of {person}. Next: supervisor team status")


@team.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for a script.")
def status(*, as_json: bool) -> None:
    """Show how this machine is joined, and how the team stands."""
    found = _read_status(joined_membership())
    if as_json:
        echo_json(found)
        return
    echo("\n".join(_status_lines(found)))


def _read_status(joined: membership.Membership) -> TeamStatus:
    try:
        with closing(PostgresDatabase(joined.url, membership.find_password(joined.key))) as database:
            store, log = TeamStore(database, joined.member), EventLogFile(user_paths().state, SystemClock())
            reached = shipper.shipped_position(store, joined.ahead)
            return TeamStatus(
                joined=joined,
                found=database.check(),
                waiting=log.count(shipper.SHIPPED, after=reached),
                machines=store.machines(),
                lists=store.lists(),
                accounts=store.accounts(),
                limits=store.limits(),
            )
    except (ports.TeamAwayError, ports.TeamRefusedError) as error:
        return TeamStatus(joined=joined, away=_away_line(error))


def _away_line(error: OSError) -> str:
    """Return since when the database is away and what waits, where the sidecar knows it, else why alone."""
    client = SidecarClient(user_paths())
    link = client.call("report", session_reference(""), SessionReport).team if client.greet() else None
    return link.detail if link and link.state == "away" else str(error)


def _status_lines(status: TeamStatus) -> Iterator[str]:
    joined, found = status.joined, status.found
    yield f"joined   as {joined.name} ({joined.machine}) of {joined.person}: {joined.url}"
    if found is None:
        yield f"away     {status.away}. What happens meanwhile is shipped later"
        return
    yield f"database PostgreSQL {found.server // 10000}, schema {found.schema}, role {found.role or 'none'}"
    yield f"log      {counted(status.waiting, 'event')} to be shipped"
    yield f"clock    {found.clock_note}"
    for machine in status.machines:
        yield f"machine  {machine.name} ({machine.id}) of {machine.person}, seen {local_time(machine.seen)}"
    for line in list_lines(status.lists):
        yield f"list     {line}"
    for account in status.accounts:
        most = "no limit" if account.most is None else f"{account.most:g}{' a day' if account.daily else ''}"
        spent = f"{account.name}: {account.used:g} spent, {account.reserved:g} reserved of {most}"
        yield f"account  {slots_line(account) or spent}"
    for limit in status.limits:
        yield f"limited  {limit.account} until {local_time(limit.until)}"


@team.command()
@click.option("--force", is_flag=True, help="Leave also where the database is away.")
def leave(*, force: bool) -> None:
    """Leave the team: what waits is shipped, tasks are given back, the password is removed."""
    refuse_agents()
    joined, log = joined_membership(), EventLogFile(user_paths().state, SystemClock())
    try:
        with closing(membership.open_team(joined)) as store:
            shipped = shipper.ship_all(store, log, joined.ahead)
            store.leave()
    except (ports.TeamAwayError, ports.TeamRefusedError) as error:
        if not force:
            why = f"{_away_line(error)}\n  - to leave without it: supervisor team leave --force"
            raise click.ClickException(why) from error
        echo(f"{_away_line(error)}. What was not shipped stays in this machine's log: supervisor events")
    else:
        echo(f"Shipped just now: {counted(shipped, 'event')}.")
    membership.remove_membership(user_paths().state)
    echo("This machine is in no team.")
