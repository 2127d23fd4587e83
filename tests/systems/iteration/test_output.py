"""What of an agent's output is shown and kept: lines, masked, at a bounded cost."""

from __future__ import annotations

from typing import Final

import pytest

from sidecar.systems.iteration.output import (
    EXCERPT_HALF,
    LINE_LENGTH,
    MASKED_LENGTH,
    AgentOutput,
)

SECRET: Final = "sk-of-the-user"


class Listener:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.heard: list[str] = []
        self.output = AgentOutput(self._mask, self.lines.append, self.heard.append)

    def _mask(self, text: str) -> str:
        return text.replace(SECRET, "***")


@pytest.fixture
def agent() -> Listener:
    return Listener()


def test_lines_are_told_whole_and_the_unfinished_one_is_heard(agent: Listener) -> None:
    for piece in ("I re", "ad.\n\n", f"The key is {SECRET[:5]}", f"{SECRET[5:]}.\x1b[31m\nBye"):
        agent.output.feed(piece)
    assert agent.heard == ["I re", "The key is sk-of", "Bye"]
    assert agent.lines == ["I read.", "The key is ***."]
    assert agent.output.close() == "I read.\n\nThe key is ***.\nBye"
    assert agent.lines[2:] == ["Bye"]


def test_a_secret_at_a_cut_is_masked_before_it_is_cut(agent: Listener) -> None:
    agent.output.feed(f"{'x' * (LINE_LENGTH - 5)}{SECRET}\n{'y' * MASKED_LENGTH}{SECRET}\n")
    assert agent.lines[0] == "x" * (LINE_LENGTH - 5) + "***"
    assert len(agent.lines[1]) == LINE_LENGTH
    for edge in (EXCERPT_HALF, EXCERPT_HALF + MASKED_LENGTH):
        one = Listener()
        filler = "a" * (edge - 5)
        for piece in (filler, SECRET, "b" * 100_000, SECRET, filler):
            one.output.feed(piece)
        kept = one.output.close()
        assert len(kept) < 2 * EXCERPT_HALF + 100
        assert SECRET[:5] not in kept.replace("***", "")
        assert SECRET[-5:] not in kept.replace("***", "")


def test_one_endless_line_is_cut_once(agent: Listener) -> None:
    for _ in range(1500):
        agent.output.feed("x" * 65_536)
    assert len(agent.heard) == 1
    agent.output.close()
    assert [len(line) for line in agent.lines] == [LINE_LENGTH]
