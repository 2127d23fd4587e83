"""The screen of `supervisor watch`; the only place for Textual."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import ClassVar, Final, TypeVar

import click
from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Footer, OptionList, Static
from textual.widgets.option_list import Option

from sidecar.cli.accept import held_edit_lines
from sidecar.cli.history import SHORT_ID
from sidecar.cli.printing import PREFIX
from sidecar.cli.status import spending_line
from sidecar.cli.watch_desk import Desk, SidecarDesk
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.held_edits import HeldEdit
from sidecar.kernel.stop_history import CONTINUE_DECISION
from sidecar.kernel.text import clean_line, escape_unprintable, escape_unprintable_lines
from sidecar.platform.client import SidecarError
from sidecar.systems.supervision.people import (
    SessionReport,
    SessionSummary,
)
from sidecar.systems.supervision.policy.activity import describe_age
from sidecar.systems.supervision.policy.journal_lines import StyledLine, journal_lines, note_lines

REFRESH_S: Final = 1.0
TASKS_SHOWN: Final = 20
NOTES_SHOWN: Final = 3
DECISIONS_SHOWN: Final = 12
OUTPUT_LINES: Final = 8
"""Newest lines of what runs now."""
LINE: Final = 200
DETAIL: Final = 300
"""Characters of a line that may come from others."""
MORE_CONTINUATIONS: Final = 5
"""What a key adds to the budget of continuations."""
DOINGS: Final = {"judging": "yellow", "working": "cyan", "waiting": "red", "closed": "dim"}
"""The colour of what a session does."""
COLOURS: Final = {
    "yellow": "$text-warning",
    "cyan": "$text-primary",
    "red": "$text-error",
    "dim": "$text-muted",
}
"""How the theme, light or dark, has a colour."""

T = TypeVar("T")


class TextScreen(ModalScreen[bool]):
    """A text until a key is pressed; with a `question`, y answers it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "Yes"),
        Binding("escape,q,n,enter", "answer(False)", "Back"),
    ]
    CSS = "TextScreen VerticalScroll { background: $surface; padding: 1 2; }"

    def __init__(self, text: str, question: str = "") -> None:
        super().__init__()
        self._text = "\n\n".join(filter(None, (text, question)))
        self._asks = bool(question)

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Static(Text(self._text))
        yield Footer()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool:
        """Offer yes only to a question."""
        return self._asks or (action, parameters) != ("answer", (True,))

    def action_answer(self, yes: bool) -> None:  # noqa: FBT001 - textual calls it so
        """Close it with the answer."""
        self.dismiss(yes)


class WatchApp(App[None]):
    """Sessions on the left, the chosen one on the right. Orders are about the session that is shown."""

    CSS = """
    OptionList { width: 36; height: 1fr; border: none; text-wrap: nowrap; text-overflow: ellipsis; }
    OptionList > .option-list--option-highlighted, OptionList:focus > .option-list--option-highlighted {
        color: $text; background: $primary 15%;
    }
    #chosen { padding: 0 1; }
    #said { height: auto; max-height: 3; color: $warning; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("p", "order('goal', 'pause')", "Pause"),
        Binding("r", "order('goal', 'resume')", "Resume"),
        Binding("c", "clear", "Clear goal"),
        Binding("plus", "more", f"Budget +{MORE_CONTINUATIONS}", key_display="+"),
        Binding("a", "accept", "Accept edits"),
        Binding("e", "explain", "Explain"),
        Binding("q", "quit", "Quit"),
    ]
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk = desk
        self._chosen = ""
        self._looks = False
        self._report = SessionReport()

    def compose(self) -> ComposeResult:
        with Horizontal():
            yield OptionList(id="sessions")
            with VerticalScroll(id="chosen"):
                yield Static(id="detail")
        yield Static(id="said")
        yield Footer()

    def on_mount(self) -> None:
        """Look at once, and then again and again."""
        self.set_interval(REFRESH_S, self.look)
        self.look()

    def look(self) -> None:
        """Ask how things stand, unless that is being asked, and show it."""
        if self._looks:
            return
        self._looks, chosen = True, self._chosen
        self._ask(lambda: self._desk.report(chosen), self.show, self._looked)

    def _looked(self) -> None:
        self._looks = False

    def show(self, report: SessionReport) -> None:
        """Show a report, unless another session was chosen meanwhile."""
        if self._chosen and report.session and _shown_name(report) != self._chosen:
            self.call_later(self.look)
            return
        self._report, now = report, time.time()
        self._chosen = self._chosen or _shown_name(report)
        names = self.query_one("#sessions", OptionList)
        options = {_name(one): Option(session_text(one, now), id=_name(one)) for one in report.sessions}
        with self.prevent(OptionList.OptionHighlighted):
            names.clear_options()
            names.add_options(list(options.values()))
            if (name := _shown_name(report)) in options:
                names.highlighted = names.get_option_index(name)
        lines = [_styled(line.text, line.style) for line in report_lines(report, now)]
        self.query_one("#detail", Static).update(Content("\n").join(lines))

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Show the session that was chosen."""
        self._chosen = event.option_id or ""
        self.look()

    def say(self, text: str) -> None:
        """Show a text below, and how things stand after it."""
        self.query_one("#said", Static).update(Text("\n".join(escape_unprintable_lines(text))))
        self.look()

    def action_order(self, name: str, arguments: str) -> None:
        """Give an order."""
        session = _shown_name(self._report)
        self._ask(lambda: self._desk.order(session, name, arguments), self.say)

    def action_clear(self) -> None:
        """Clear the goal, after a question."""
        self._confirm(
            "The goal ends, and cannot be resumed.", "Clear it?", lambda: self.action_order("goal", "clear")
        )

    def action_more(self) -> None:
        """Raise the budget of continuations."""
        if (budget := self._report.budget) is not None:
            self.action_order("retry", str(budget.continuations + MORE_CONTINUATIONS))

    def action_accept(self) -> None:
        """Show the edits that wait, and let them count."""
        project = self._report.project
        self._ask(lambda: self._desk.held(project), self._offer)

    def _offer(self, held: tuple[HeldEdit, ...]) -> None:
        if not held:
            self.say("nothing waits to be accepted")
            return
        project, digests = self._report.project, tuple(edit.digest for edit in held)
        text = "\n".join(line for edit in held for line in held_edit_lines(edit))
        accept = lambda: self._ask(lambda: self._desk.accept(project, digests), self.say)  # noqa: E731
        self._confirm(text, "Let this count?", accept)

    def action_explain(self) -> None:
        """Open the story of the last decision."""
        session = _shown_name(self._report)
        self._ask(lambda: self._desk.explain(session), lambda text: self.push_screen(TextScreen(text)))

    def _confirm(self, text: str, question: str, do: Callable[[], None]) -> None:
        self.push_screen(TextScreen(text, f"{question} (y)"), lambda yes: do() if yes else None)

    def _ask(
        self, question: Callable[[], T], show: Callable[[T], object], done: Callable[[], None] = lambda: None
    ) -> None:
        """Ask in a thread, as an answer may take long, and show it; an error is shown below."""

        def asked() -> None:
            try:
                answer = question()
            except (SidecarError, BadInputError, OSError, click.ClickException) as error:
                said = Text(clean_line(str(error)))
                self.call_from_thread(self.query_one("#said", Static).update, said)
            else:
                self.call_from_thread(show, answer)
            finally:
                self.call_from_thread(done)

        self.run_worker(asked, thread=True)


def session_text(one: SessionSummary, now: float) -> Content:
    """Describe a session in a few short lines."""
    goal = f"goal {one.status}: {one.condition}" if one.condition else "no goal"
    lines = (
        _styled(clean_line(f"{one.host}:{one.session[:SHORT_ID]}"), "bold"),
        _styled(f"{one.doing}, {describe_age(now - one.since)}", DOINGS.get(one.doing, "")),
        _styled(clean_line(goal, LINE), ""),
    )
    return Content("\n").join(lines)


def _styled(text: str, style: str) -> Content:
    return Content.styled(text, COLOURS.get(style, style))


def report_lines(report: SessionReport, now: float) -> Iterator[StyledLine]:
    """Describe the session that is shown, what it does and what that prints first, and what is wrong last."""
    for text in escape_unprintable_lines(report.text.removeprefix(PREFIX)):
        yield StyledLine(text, "bold")
    for text in report.output.splitlines()[-OUTPUT_LINES:]:
        yield StyledLine(f"  │ {clean_line(text, LINE)}")
    yield StyledLine(clean_line(f"in {report.project}"), "dim")
    if report.off:
        yield StyledLine(f"Supervisor is {report.off}", "red")
    if report.spending.calls:
        yield StyledLine(spending_line(report.spending))
    yield StyledLine("")
    yield from journal_lines(report.journal, TASKS_SHOWN, now)
    yield from note_lines(report.journal, NOTES_SHOWN)
    yield StyledLine("")
    for entry in reversed(report.story[-DECISIONS_SHOWN:]):
        said = f"{describe_age(now - entry.at)} ago: {entry.event} {entry.decided}. {entry.detail}"
        yield StyledLine(clean_line(said, DETAIL), "" if entry.decided != CONTINUE_DECISION else "yellow")
    for line in (*report.set_aside, *report.troubles):
        yield StyledLine(escape_unprintable(line), "red")


def _name(one: SessionSummary) -> str:
    return f"{one.host}:{one.session}"


def _shown_name(report: SessionReport) -> str:
    return f"{report.host}:{report.session}" if report.session else ""


def run_watch(folder: str) -> None:
    """Run it until the user quits."""
    WatchApp(SidecarDesk(folder)).run()
