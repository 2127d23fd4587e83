"""Which stop is the last one, and which kept stop is the same."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from sidecar.kernel.effects import RestReason
from sidecar.kernel.log import RecordEntry
from sidecar.systems.supervision.decisions import StopExplainer
from support.cases import KEY, PROJECT, incomplete, session, with_goal
from support.fakes import ENVIRONMENT, LIMIT, Fakes


@pytest.fixture
async def fakes() -> Fakes:
    """A session that was sent back once by its judge, and whose stop was kept."""
    fakes = Fakes()
    fakes.store.save(with_goal())
    fakes.judge.script(incomplete())
    await fakes.sent_back()
    async with asyncio.timeout(LIMIT):
        await fakes.supervisor._stops._keeper.idle()  # noqa: SLF001 - nobody else waits for it
    return fakes


def stop(at: float, **fields: Any) -> RecordEntry:
    return RecordEntry(**{"at": at, "event": "stop", "decided": "continue", "stage": "judge", **fields})


async def test_a_kept_stop_is_played_to_all_that_policy_knew(fakes: Fakes) -> None:
    last = await StopExplainer(fakes.services).last(fakes.state())
    assert last is not None
    assert last.played is not None
    assert last.played.inquiry.evidence == fakes.judge.cases[0].evidence
    assert last.entry.decided == "continue"


@pytest.mark.parametrize(
    "entry", [{"decided": "unjudged"}, {"at": 6.0}, {"at": -0.1}], ids=["another end", "later", "earlier"]
)
async def test_an_entry_of_another_stop_is_told_without_the_kept_one(
    fakes: Fakes, entry: dict[str, Any]
) -> None:
    at = fakes.clock.now() + entry.pop("at", 0.0)
    fakes.record.append(KEY, stop(at, **entry))
    last = await StopExplainer(fakes.services).last(fakes.state())
    assert last is not None
    assert (last.entry.at, last.played) == (at, None)


async def test_a_kept_stop_that_todays_rules_would_end_otherwise_is_not_told(fakes: Fakes) -> None:
    (kept,) = fakes.stop_history.last(PROJECT, 1).stops
    fakes.stop_history.forget(PROJECT, KEY)
    fakes.stop_history.keep(replace(kept, facts=kept.facts[:-1]))
    last = await StopExplainer(fakes.services).last(fakes.state())
    assert last is not None
    assert last.played is None
    fakes.stop_history.forget(PROJECT, KEY)
    fakes.stop_history.keep(replace(kept, ended="achieved"))
    fakes.record.append(KEY, stop(fakes.clock.now(), decided="achieved"))
    last = await StopExplainer(fakes.services).last(fakes.state())
    assert last is not None
    assert (last.entry.decided, last.played) == ("achieved", None)


@pytest.mark.parametrize(
    "skipped",
    [
        {"decided": RestReason.TALK, "stage": "skip rules"},
        {"decided": RestReason.INTERRUPTED, "stage": "gates"},
        {"decided": RestReason.SUPERSEDED, "stage": "judge"},
    ],
)
async def test_the_last_judged_stop_is_found_behind_those_that_led_to_nothing(
    fakes: Fakes, skipped: dict[str, Any]
) -> None:
    fakes.record.append(KEY, stop(fakes.clock.now() + 1, **skipped))
    fakes.record.append(KEY, RecordEntry(at=0.0, event="command goal", decided="done"))
    explainer = StopExplainer(fakes.services)
    last, judged = await explainer.last(fakes.state()), await explainer.last(fakes.state(), judged=True)
    assert last is not None
    assert last.entry.decided == skipped["decided"]
    assert judged is not None
    assert judged.entry.decided == "continue"


async def test_a_session_without_a_stop_has_none() -> None:
    explainer = StopExplainer(Fakes().services)
    assert await explainer.last(session()) is None


async def test_without_an_environment_or_a_tree_nobody_says_whether_files_moved(fakes: Fakes) -> None:
    explainer = StopExplainer(fakes.services)
    here = fakes.state()
    assert await explainer.moved(here, stop(0.0, tree="tree-1"), ENVIRONMENT) is False
    assert await explainer.moved(here, stop(0.0, tree="tree-0"), ENVIRONMENT) is True
    assert await explainer.moved(here, stop(0.0, tree="tree-1"), None) is None
    assert await explainer.moved(here, stop(0.0), ENVIRONMENT) is None
    fakes.workspace.tree = ""
    assert await explainer.moved(here, stop(0.0, tree="tree-1"), ENVIRONMENT) is None
