"""`supervisor run log` numbers agents as the screen did, and hides none that was killed."""

from __future__ import annotations

from typing import Final

from sidecar.cli.report import iteration_lines
from sidecar.kernel.log import LoggedEvent, RunHistoryEvent, RunIterationBegan, RunIterationEnded


def begun(number: int, iteration: int) -> RunIterationBegan:
    return RunIterationBegan(number=number, iteration=iteration, most=5, prompt=f"prompt {number}")


def ended(number: int, decided: str) -> RunIterationEnded:
    return RunIterationEnded(number=number, decided=decided, seconds=61.0, output=f"output {number}")


KEPT: Final[tuple[RunHistoryEvent, ...]] = (
    begun(7, 1),
    begun(8, 2),
    ended(7, "continue"),
    begun(9, 2),  # 8 was killed
    ended(9, "achieved"),
)
EVENTS: Final = tuple(
    LoggedEvent(position=at, at=0.0, system="iteration", data=one) for at, one in enumerate(KEPT)
)


def test_every_agent_that_was_started_has_its_line_with_the_number_of_the_screen() -> None:
    shown = [(line[:2], line.partition(":00:00")[2]) for line in iteration_lines(EVENTS)]
    assert shown == [
        ("1 ", ", after 01:01; continue"),
        ("2 ", " at work, or its run was killed"),
        ("2 ", ", after 01:01; achieved"),
    ]
    in_full = "\n".join(iteration_lines(EVENTS, 2))
    assert [text in in_full for text in ("prompt 8", "prompt 9", "output 9", "prompt 7")] == [1, 1, 1, 0]
