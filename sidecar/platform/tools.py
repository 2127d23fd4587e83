"""The catalogue of tools that check projects: data/tools.toml, which explains each field."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fnmatch import translate
from functools import cache
from typing import Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from sidecar.kernel.gate import Kind
from sidecar.platform.data import load_data

Words: TypeAlias = tuple[str, ...]
NOTHING: Final = r"(?!)"
"""A regular expression that nothing fits."""


class Options(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options by what a run with them shows."""

    runs_nothing: frozenset[str] = frozenset()
    narrows: frozenset[str] = frozenset()
    never_fails: frozenset[str] = frozenset()
    passes_empty: frozenset[str] = frozenset()


class CommonOptions(Options, frozen=True, kw_only=True):
    """Options and words that mean the same for every tool."""

    repairs: frozenset[str]
    checks_only: frozenset[str]
    valued: frozenset[str]
    alone: frozenset[str]
    subcommands: frozenset[str]
    folders: frozenset[str]
    variables: frozenset[str]


class ReportRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a tool is asked for a report, and who reads it, "" where only its plain output is read."""

    reader: str = ""
    flags: str = ""
    after: Words = ()
    unless: Words = ()
    anywhere: bool = True
    output: bool = False
    unsaid: tuple[int, ...] = ()
    always: bool = False


class ToolGate(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How detection finds and starts a tool."""

    kind: Kind
    command: str
    files: Words = ()
    sections: tuple[tuple[str, str], ...] = ()
    listed: bool = True
    shows: str = ""


class ToolOutput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Forms of a tool's plain output, as regular expressions."""

    counts: Words = ()
    total: Words = ()
    failing: Words = ()
    failed: dict[Kind, Words] = {}
    replayed: Words = ()


class ToolWatch(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """In which scripts a tool watches files, as regular expressions, and what keeps it from that."""

    always: str = NOTHING
    outside_ci: str = NOTHING
    variable: str = ""
    at_end: str = NOTHING
    stop: str = ""


class Tool(Options, frozen=True, kw_only=True):
    """One tool; `name` is that of its entry."""

    name: str = ""
    names: Words = ()
    kinds: tuple[Kind, ...] | dict[str, tuple[Kind, ...]] = ()
    kinds_from: Literal["", "goals", "scripts", "targets", "tox", "tsc"] = ""
    arguments: Literal["files", "targets", "modules"] = "files"
    rewrites: Words = ()
    repairs: bool = False
    named: str = ""
    language: str = ""
    package: str = ""
    version: Words = ()
    up_to_date: str = ""
    gate: ToolGate | None = None
    watch: ToolWatch | None = None
    report: ReportRequest | None = None
    output: ToolOutput = ToolOutput()

    @property
    def kinds_by_words(self) -> dict[str, tuple[Kind, ...]]:
        """What it checks, by the words that make it do so; "" is any."""
        return self.kinds if isinstance(self.kinds, dict) else {"": self.kinds}


class Wrapper(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A command that runs another one."""

    takes: frozenset[str] = frozenset()
    words: int = 0
    assigns: bool = False
    only_in_shell: bool = False
    stays_in_shell: bool = False
    scripts: bool = False
    elsewhere: bool = False
    runs_nothing: frozenset[str] = frozenset()


class Catalogue(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The data file. `targets`: forms of the names of scripts and targets, by what these check."""

    any: CommonOptions
    targets: dict[str, str]
    plain: dict[Kind, Words]
    tools: dict[str, Tool]
    wrappers: dict[str, Wrapper]


class ToolIndex:
    """The catalogue, looked up by name."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.common = catalogue.any
        self.targets = catalogue.targets
        plain = {name: Tool(kinds=(kind,)) for kind, names in catalogue.plain.items() for name in names}
        self.tools = tuple(
            replace(tool, name=name, package=tool.package or name)
            for name, tool in (catalogue.tools | plain).items()
        )
        self.by_name = {name: tool for tool in self.tools for name in (tool.name, *tool.names)}
        self.wrappers = {tuple(name.split()): wrapper for name, wrapper in catalogue.wrappers.items()}
        self.elsewhere = {words[0] for words, wrapper in self.wrappers.items() if wrapper.elsewhere}
        self.script_starters = {words[0] for words, wrapper in self.wrappers.items() if wrapper.scripts}


@cache
def known_tools() -> ToolIndex:
    """Return the index of the data file."""
    return ToolIndex(load_data("tools", Catalogue))


def find_tool(name: str) -> Tool | None:
    """Return the tool with a program or module of this name."""
    return known_tools().by_name.get(name)


def is_package_manager(name: str) -> bool:
    """Whether the program runs the scripts of a package.json."""
    tool = find_tool(name)
    return tool is not None and tool.kinds_from == "scripts"


def tools_of(language: str) -> tuple[Tool, ...]:
    """Return the tools that packages of this language bring."""
    return tuple(tool for tool in known_tools().tools if tool.language == language)


def detected_tools(language: str, kinds: Iterable[Kind]) -> Iterator[tuple[Tool, ToolGate]]:
    """Yield the tools of a language that detection may find for these kinds, preferred ones first."""
    for tool in known_tools().tools:
        if tool.gate and tool.language == language and tool.gate.kind in kinds:
            yield tool, tool.gate


def settings_patterns(kinds: Iterable[Kind] = Kind) -> Iterator[str]:
    """Yield regular expressions for the names of files that configure tools for these kinds."""
    for tool in known_tools().tools:
        if tool.gate and tool.gate.kind in kinds:
            yield from map(translate, tool.gate.files)
