"""What a person at the real OpenCode sees when a rubric was just saved: a toast, whoever's turn it is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from real_hosts.opencode_host import OpenCode
from real_hosts.opencode_supervised import Supervised, says, supervised
from support.model_server import ScriptedModel

pytestmark = pytest.mark.proves("OpenCode")

PLAIN = "# Ours\n\n## Patterns\n\n- **DONE**: it is there\n\n## Antipatterns\n\n- **TALK**: it is only said\n"
STRICT = PLAIN + "- **NO-PRINT**: a print statement is left\n"


@pytest.fixture
def under(opencode_host: OpenCode, model: ScriptedModel) -> Iterator[Supervised]:
    with supervised(opencode_host, model) as made:
        yield made


@pytest.mark.long
def test_a_rubric_that_appears_and_is_edited_is_told_in_toasts_and_not_again(under: Supervised) -> None:
    under.script(says("Hello."), says("Bye."))
    path = under.host.project / ".supervisor" / "rubric.md"
    with under.host.terminal() as terminal:
        terminal.submit("Say hello.")
        terminal.wait_for("Hello\\.")
        path.parent.mkdir()
        path.write_text(PLAIN, encoding="utf-8")
        terminal.wait_for("was changed")
        terminal.wait_until_gone("was changed")
        draft = path.with_name("draft")
        draft.write_text(STRICT, encoding="utf-8")
        draft.replace(path)
        terminal.wait_for("NO-PRINT")
        terminal.wait_until_gone("NO-PRINT")
        terminal.submit("Say bye.")
        terminal.wait_for("Bye\\.")
        assert "NO-PRINT" not in terminal.screen
