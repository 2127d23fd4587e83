"""How the machine of this user joined a team: `team.json` in the state folder, and where the password is.

Where there is no such file, nothing of a team is imported or connected. How far this machine's log was
shipped is asked of the team and is not kept here.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, unquote, urlsplit, urlunsplit

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sidecar.kernel.errors import BadInputError, ServiceError
from sidecar.kernel.settings import ServiceSettings
from sidecar.platform.files import ensure_folder, write_whole
from sidecar.platform.paths import SHARE_FILE, TEAM_FILE, TEAM_PASSWORD_FILE
from sidecar.platform.state import read_usable_state
from sidecar.platform.team.ports import Machine, Member, TeamRefusedError

if TYPE_CHECKING:
    from sidecar.platform.team.store import TeamStore

FILE_LIMIT: Final = 64 * 1024
"""Most bytes of team.json."""
AGENTS_SUFFIX: Final = "-agents"
"""The login NAME-agents is that of the agents of NAME, whom people know."""
MACHINE_ID: Final = Path("/etc/machine-id")
URL_FORM: Final = "postgresql://LOGIN:PASSWORD@HOST/DATABASE"


class Membership(Struct, frozen=True, kw_only=True):
    """What was joined. `url` has no password: `key` names where it is.

    `machine` is unique in the team, `name` is what people call it, `person` is the user on it. `ahead`: what
    sequence numbers in the team are greater by than positions in the local log; see shipper.py.
    """

    version: int = 1
    url: str = ""
    machine: str = ""
    name: str = ""
    person: str = ""
    fingerprint: str = ""
    ahead: int = 0
    key: ServiceSettings = ServiceSettings()

    @property
    def member(self) -> Member:
        return Member(machine=self.machine, person=self.person)

    def sign_of_life(self, version: str) -> Machine:
        """Return what the team is told of this machine; `version`: of Supervisor."""
        return Machine(
            id=self.machine, name=self.name, person=self.person, fingerprint=self.fingerprint, version=version
        )


def load_membership(state: Path) -> Membership | None:
    """Return how this user's machine joined, None where it did not. Raises OSError."""
    found = read_usable_state(state / TEAM_FILE, Membership, FILE_LIMIT)
    return found if found.url else None


def save_membership(state: Path, membership: Membership, password: str = "") -> Membership:
    """Write the membership, and the password into a file beside it where one is given. Raises OSError."""
    ensure_folder(state)
    if password:
        path = state / TEAM_PASSWORD_FILE
        write_whole(path, password.encode() + b"\n", durable=True)
        membership = replace(membership, key=ServiceSettings(key_file=str(path)))
    write_whole(state / TEAM_FILE, msgspec.json.encode(membership) + b"\n", durable=True)
    return membership


def remove_membership(state: Path) -> None:
    """Forget the team, and the password that is beside it. Raises OSError."""
    for name in (TEAM_FILE, SHARE_FILE, TEAM_PASSWORD_FILE):
        (state / name).unlink(missing_ok=True)


def new_machine(state: Path, membership: Membership) -> Membership:
    """Return the membership with an id of its own: for a machine that joins, and for a copy of one."""
    return replace(membership, machine=os.urandom(8).hex(), fingerprint=machine_fingerprint(state))


def machine_fingerprint(state: Path) -> str:
    """Return what differs between copies of one state folder, as 32 hexadecimal digits.

    A renamed machine has another one, too: it then goes on under a new id, which loses nothing.
    """
    machine_id = MACHINE_ID.read_text("ascii", "replace").strip() if MACHINE_ID.is_file() else ""
    facts = (machine_id, os.uname().nodename, os.path.realpath(state), str(state.stat().st_ino))
    return hashlib.sha256("\n".join(facts).encode(errors="replace")).hexdigest()[:32]


def open_team(membership: Membership) -> TeamStore:
    """Return this machine's view of its team, not connected yet. Blocks, as `find_password` does."""
    from sidecar.platform.team.postgres import PostgresDatabase  # noqa: PLC0415 - only where joined
    from sidecar.platform.team.store import TeamStore  # noqa: PLC0415 - the same

    return TeamStore(PostgresDatabase(membership.url, find_password(membership.key)), membership.member)


def find_password(key: ServiceSettings) -> str:
    """Return what is where `key` names it, "" for nothing.

    Blocks while a keyring is asked, so an event loop calls it in a thread. Raises TeamRefusedError.
    """
    from sidecar.platform.api_keys import ApiKeyFinder  # noqa: PLC0415 - only where joined

    try:
        found = asyncio.run(ApiKeyFinder(key, {}, os.environ).fetch())
    except ServiceError as error:
        raise TeamRefusedError(f"the team's password: {error}") from error
    return found.secret if found else ""


class JoinedTeam:
    """The team of this machine, which may join or leave one at any time."""

    def __init__(self, state: Path) -> None:
        """`state`: the user's state folder."""
        self._state = state
        self._joined: Membership | None = None
        self._team: TeamStore | None = None
        self._opening = threading.Lock()

    @property
    def is_there(self) -> bool:
        """Whether this machine joined a team."""
        return (self._state / TEAM_FILE).exists()

    def find(self) -> TeamStore | None:
        """Return this machine's view of its team, None without one. Blocks; raises as `open_team`."""
        with self._opening:
            if (joined := load_membership(self._state)) != self._joined:
                if self._team is not None:
                    self._team.close()
                self._team = open_team(joined) if joined else None
                self._joined = joined
            return self._team


class TeamUrl(Struct, frozen=True, kw_only=True):
    """The URL of a database without its password, its login, and the password, "" for none."""

    url: str
    login: str
    password: str


def parse_team_url(url: str) -> TeamUrl:
    """Take a URL apart. Raises BadInputError, which does not quote it: a password may be in it."""
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = urlsplit("")
    user, _, place = parts.netloc.rpartition("@")
    login, _, password = user.partition(":")
    if parts.scheme not in ("postgresql", "postgres") or not login or "password=" in parts.query:
        raise BadInputError(
            f"this is no URL of a team. One looks like {URL_FORM}; in a password, / is written %2F, @ is %40"
        )
    bare = urlunsplit(parts._replace(netloc=f"{login}@{place}"))
    return TeamUrl(url=bare, login=unquote(login), password=unquote(password))


def url_of_login(url: str, login: str, password: str) -> str:
    """Return the URL of the same database for another login."""
    parts = urlsplit(url)
    user = f"{quote(login, safe='')}:{quote(password, safe='')}"
    return urlunsplit(parts._replace(netloc=f"{user}@{parts.netloc.rpartition('@')[2]}"))


def open_team_of_login(url: TeamUrl) -> TeamStore:
    """Return a person's view of the team; it is not kept."""
    from sidecar.platform.team.postgres import PostgresDatabase  # noqa: PLC0415 - as in open_team
    from sidecar.platform.team.store import TeamStore  # noqa: PLC0415 - the same

    person = Member(machine="", person=login_person(url.login))
    return TeamStore(PostgresDatabase(url.url, url.password), person)


def login_person(login: str) -> str:
    """Return whose login this is."""
    return login.removesuffix(AGENTS_SUFFIX)
