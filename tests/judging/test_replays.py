"""A replay in one line."""

from __future__ import annotations

import pytest

from sidecar.judging.replays import MAX_DETAIL_LENGTH, ruling_outcome, summarize_replays
from sidecar.kernel.effects import Rest, RestReason
from sidecar.kernel.stop_history import ReplayedStop


def stop(before: str = "continue", now: str = "continue", *, asks: bool = False) -> ReplayedStop:
    return ReplayedStop(at=1.0, host="h", session="s", before=before, now=now, asks=asks, other_case=asks)


SAME, CHANGED, OPEN = stop(), stop(now="unjudged"), stop(asks=True)


@pytest.mark.parametrize(
    ("done", "line"),
    [
        ([], "there is no stop to replay: none was kept for this project yet"),
        ([SAME], "replay on the last stop: 0 verdicts change"),
        ([CHANGED, SAME], "replay on the last 2 stops: 1 verdict changes"),
        (
            [CHANGED] * 3 + [OPEN] * 2 + [SAME] * 15,
            "replay on the last 20 stops: 3 verdicts change, 2 cannot be told without a model",
        ),
    ],
)
def test_the_count_is_one_line(done: list[ReplayedStop], line: str) -> None:
    assert summarize_replays(done) == line


def test_what_cannot_be_told_is_no_change() -> None:
    assert not stop(now="unjudged", asks=True).changed


def test_why_a_stop_ended_is_bounded() -> None:
    how, why = ruling_outcome(Rest(reason=RestReason.UNJUDGED, detail="x" * 5000))
    assert (how, len(why)) == ("unjudged", MAX_DETAIL_LENGTH)
