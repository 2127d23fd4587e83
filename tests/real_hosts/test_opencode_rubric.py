"""In a real OpenCode with language servers on, the agent hears what is wrong with the rubric it writes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from real_hosts.opencode_host import OpenCode
from real_hosts.opencode_supervised import AGENT, Supervised, says, supervised
from support.model_script import ReplyRule, reply_with_calls
from support.model_server import ScriptedModel
from support.model_wire import ReplyToolCall

pytestmark = pytest.mark.proves("OpenCode")

BROKEN = "# Ours\n\n## Patterns\n\n- **DONE**: it is there\n"
MISSING = "the section `## Antipatterns` is missing"


@pytest.fixture
def under(opencode_host: OpenCode, model: ScriptedModel) -> Iterator[Supervised]:
    opencode_host.configure(lsp=True)
    with supervised(opencode_host, model) as made:
        yield made


@pytest.mark.long
def test_the_result_of_writing_a_rubric_says_what_is_wrong_with_it_and_of_another_file_nothing(
    under: Supervised,
) -> None:
    for place in ("README.md", ".supervisor/rubric.md"):
        write = ReplyToolCall("write", {"filePath": str(under.host.project / place), "content": BROKEN})
        under.script(ReplyRule(reply_with_calls(write), AGENT))
    under.script(says("Written."))
    under.ask("Write it.", "--auto")
    _, readme, rubric = [request.last for request in under.model.requests if "bash" in request.tools][:3]
    assert MISSING in rubric
    assert MISSING not in readme
