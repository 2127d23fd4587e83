"""What the documents promise is there: every test that they cite, every file that they link to."""

from __future__ import annotations

import re
import runpy
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import msgspec

from sidecar.cli import main
from sidecar.cli.config import setting_lines
from sidecar.judging.rules.every import STOP_RULES
from sidecar.kernel.settings import Settings
from sidecar.systems.supervision.policy.continuations import GOAL_ENDINGS
from support.table import over_table

ROOT = Path(__file__).resolve().parent.parent.parent
CITED = re.compile(r"`(?P<file>test_\w+\.py)::(?P<test>test_\w+)`")
TEST = re.compile(r"^ *(?:async )?def (test_\w+)\(", re.MULTILINE)
PAGES = [
    path.relative_to(ROOT).as_posix() for path in sorted((*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")))
]
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")


def test_every_row_of_the_table_of_gates_cites_a_test_that_exists() -> None:
    page = (ROOT / "docs" / "gates.md").read_text(encoding="utf-8")
    table = page.partition("## The table")[2].partition("##")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")][2:]
    for row in rows:
        found = CITED.search(row)
        assert found is not None, row
        assert found["test"] in _tests_of(found["file"]), row
    assert len(rows) > 10


@cache
def _tests_of(name: str) -> frozenset[str]:
    """The tests in the files of that name, wherever they are."""
    sources = (file.read_text(encoding="utf-8") for file in (ROOT / "tests").rglob(name))
    return frozenset(test for source in sources for test in TEST.findall(source))


def test_every_file_of_the_architecture_is_there() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").partition("## State")[0]
    named = set(re.findall(r"`([\w./-]+(?:/|\.(?:py|toml|md|js|json|html)))`", page))
    there = {path for place in named for path in (ROOT / place, ROOT / "sidecar" / place) if path.exists()}
    beside = {place for place in named if "/" not in place and [*(ROOT / "sidecar").rglob(place)]}
    missing = {place for place in named - beside if not {ROOT / place, ROOT / "sidecar" / place} & there}
    assert missing == set()
    assert len(named) > 50


def test_every_decision_stands_in_the_list_of_decisions() -> None:
    page = (ROOT / "docs" / "adr" / "README.md").read_text(encoding="utf-8")
    assert set(LINK.findall(page)) == {path.name for path in (ROOT / "docs" / "adr").glob("0*.md")}


@over_table("page", PAGES)
def test_every_link_leads_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    broken = [target for target in LINK.findall(text) if not ((ROOT / page).parent / target).exists()]
    assert broken == []


def test_the_page_on_judging_names_every_rule_with_its_measurement() -> None:
    page = (ROOT / "docs" / "judging.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z-]+)` \| .* \| \d+ of \d+ \[", page, re.MULTILINE)

    assert set(rows) == {rule.id for rule in STOP_RULES}


def _commands(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    yield name, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for each in command.list_commands(context):
            found = command.get_command(context, each)
            assert found is not None
            yield from _commands(found, f"{name} {each}".strip())


def test_the_page_on_the_command_line_has_the_exit_codes_of_every_command() -> None:
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8").partition("## Exit codes")[2]
    shown = {
        name: re.findall(r"(?:^|[,:] )(\d+) ", codes)
        for names, codes in re.findall(r"^\| (`.*?) \| (.*) \|$", page, re.MULTILINE)
        for name in re.findall(r"`([^`]+)`", names)
    }
    said = {
        name: re.findall(r"[:,]\s+(\d+)\s", command.help.partition("Exit codes")[2].partition(".")[0] + " ")
        for name, command in _commands(main, "")
        if name and command.help and "Exit codes" in command.help
    }
    assert {name: set(codes) for name, codes in shown.items()} == {
        name: {*codes} for name, codes in said.items()
    }
    assert len(said) > 10


def test_every_command_has_a_line_on_the_page_of_the_command_line() -> None:
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8").partition("## In a shell")[2]
    first = re.findall(r"^\| (`.*?) \|", page.partition("\n## ")[0], re.MULTILINE)
    listed = {name.split()[0] for cell in first for name in re.findall(r"`([^`]+)`", cell)}
    assert listed == set(main.list_commands(click.Context(main)))


def test_every_setting_has_a_line_on_the_page_of_settings_and_no_other_has() -> None:
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    tables = re.findall(r"^\| setting .*?(?:\n\n|\Z)", page, re.MULTILINE | re.DOTALL)
    cells = re.findall(r"^\| (`.*?) \|", "".join(tables), re.MULTILINE)
    listed = {name.removesuffix(".NAME") for cell in cells for name in re.findall(r"`([^`]+)`", cell)}
    there = {line.removeprefix("# ").split()[0] for line in setting_lines(Settings(), ())}
    # empty until somebody fills them:
    empty = {"price", "models", "workers.models", "governance.phase", "notify.body"}
    assert {key for key in there if not _is_of(key, listed)} == set()
    assert {name for name in listed if not any(_is_of(key, {name}) for key in there)} == empty


def _is_of(key: str, names: set[str]) -> bool:
    return any(key == name or key.startswith(f"{name}.") for name in names)


@over_table("page", ["README.md", "docs/start.md", "docs/how-it-decides.md"])
def test_the_first_pages_need_no_words_of_ours(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    shown = re.sub(r"\]\([^)]*\)|`[^`]*`|^ {4,}.*$", " ", text, flags=re.MULTILINE)
    assert re.findall(r"\b(?:sidecars?|gates?|advis\w+|relay|verdicts?|ledger)\b", shown, re.IGNORECASE) == []


def test_every_message_on_the_page_of_troubles_is_one_of_the_program() -> None:
    page = (ROOT / "docs" / "trouble.md").read_text(encoding="utf-8")
    rows = [row for row in page.splitlines() if row.startswith("| `")]
    sources = [*(ROOT / "sidecar").rglob("*.py"), ROOT / "hooks" / "opencode.js", ROOT / "hooks" / "mcp.py"]
    said = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    said = re.sub(r'"\s*\n\s*f?"', "", said)  # a text in several lines
    unsaid = [
        part
        for row in rows
        for message in re.findall(r"`([^`]+)`", row.split(" | ")[0])
        for part in re.split(r"\s*\.\.\.[\s/]*", message)
        if part.strip(" :();,") not in said
    ]
    assert unsaid == []
    assert {words for _, words in GOAL_ENDINGS.values() if words.split(";")[0] not in page} == set()
    assert len(rows) > 30


def test_the_list_of_all_messages_holds_each_with_a_page_about_it() -> None:
    site = runpy.run_path(str(ROOT / ".ci" / "site.py"))
    pages = msgspec.yaml.decode((ROOT / "mkdocs.yml").read_bytes())["extra"]["message_pages"]
    assert [page for page in pages.values() if not (ROOT / "docs" / page).is_file()] == []
    assert [place for place in pages if not list((ROOT / "sidecar").glob(f"{place}*"))] == []
    told = site["messages_page"](pages)
    for message, page in {
        "no session is known as ...; name it HOST:ID": "trouble",  # an f-string
        "the recorded runtime ... cannot be executed": "trouble",  # a finding of the doctor
        "this stop was not judged: .... The goal stays active.": "trouble",  # a note at a stop
        "there is no check ... here; there are: ...": "gates",
    }.items():
        assert f"| {message} | [{page}]({page}.md) |" in told
