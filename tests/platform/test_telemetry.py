"""Traces and metrics: what a collector receives of stops, read with OpenTelemetry's own messages."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Queue

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from sidecar.kernel.log import LoggedEvent, StopJudged, WorkerRan
from sidecar.kernel.settings import Settings, TelemetrySettings
from sidecar.platform import telemetry
from sidecar.platform.state import Incidents
from sidecar.platform.telemetry import export_log
from support.cases import KEY
from support.logs import event_log
from support.memory_stores import FixedConfiguration

WAIT_S = 20.0
TRACE = "0af7651916cd43dd8448eb211c80319c"
STOP = StopJudged(
    decided="continue",
    detail="`pytest -q` fails",
    judge="claude-cli",
    confidence=0.9,
    judge_tokens=120,
    judge_cents=0.5,
    seconds=3.0,
    gates=("tests: failed",),
    stages=(("turn", 0.5), ("gates", 2.0), ("judged", 3.0)),
    trace=f"00-{TRACE}-b7ad6b7169203331-01",
)
WORKER = WorkerRan(backend="run", model="small", tokens=30, cents=0.25, calls=1, seconds=4.0)


class Collector(ThreadingHTTPServer):
    """Takes OTLP over HTTP on a free port; `received` has path and body of each request."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.received: Queue[tuple[str, bytes]] = Queue()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def bodies(self, path: str) -> list[bytes]:
        """Everything that came for a path by now."""
        found = [self.received.get_nowait() for _ in range(self.received.qsize())]
        return [body for at, body in found if at == path]


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, Collector)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.end_headers()
        self.server.received.put((self.path, body))

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def collector() -> Iterator[Collector]:
    server = Collector()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join(WAIT_S)
    server.server_close()


async def _exported(state: Path, endpoint: str, *events: LoggedEvent) -> None:
    """Append these while a sidecar exports, and end it."""
    log = event_log(state)
    settings = FixedConfiguration(Settings(telemetry=TelemetrySettings(endpoint=endpoint)))
    exporting = asyncio.create_task(export_log(log, settings, Incidents()))
    await asyncio.wait([exporting], timeout=0)  # it listens before it waits for the first time
    for event in events:
        log.append(event)
    exporting.cancel()
    async with asyncio.timeout(WAIT_S):
        await asyncio.gather(exporting, return_exceptions=True)


async def test_a_collector_gets_a_stop_with_its_stages_in_the_trace_of_the_host(
    tmp_path: Path, collector: Collector
) -> None:
    event = LoggedEvent(at=1000.0, system="supervision", session=KEY, project="/work", data=STOP)
    await _exported(tmp_path, collector.endpoint, event)
    (body,) = collector.bodies("/v1/traces")
    (resource,) = ExportTraceServiceRequest.FromString(body).resource_spans
    spans = {span.name: span for span in resource.scope_spans[0].spans}
    whole = spans["supervisor.stop"]
    assert {span.trace_id.hex() for span in spans.values()} == {TRACE}
    assert whole.parent_span_id.hex() == "b7ad6b7169203331"
    times = {
        name: (one.start_time_unix_nano / 1e9, one.end_time_unix_nano / 1e9) for name, one in spans.items()
    }
    assert times == {
        "supervisor.stop": (997.0, 1000.0),
        "turn": (997.0, 997.5),
        "gates": (997.5, 999.0),
        "judged": (999.0, 1000.0),
    }
    assert all(
        one.parent_span_id == whole.span_id for name, one in spans.items() if name in dict(STOP.stages)
    )
    (result,) = whole.events
    told = {one.key: one.value for one in result.attributes}
    assert result.name == "gen_ai.evaluation.result"
    assert told["gen_ai.evaluation.score.label"].string_value == "continue"
    assert told["gen_ai.evaluation.score.value"].double_value == STOP.confidence


async def test_a_collector_gets_what_judges_and_workers_cost(tmp_path: Path, collector: Collector) -> None:
    stop = LoggedEvent(at=1000.0, system="supervision", session=KEY, data=STOP)
    worker = LoggedEvent(at=1001.0, system="workers", data=WORKER)
    await _exported(tmp_path, collector.endpoint, stop, worker)
    (body,) = collector.bodies("/v1/metrics")
    (resource,) = ExportMetricsServiceRequest.FromString(body).resource_metrics
    points = {one.name: one.sum.data_points for one in resource.scope_metrics[0].metrics}
    parts = {
        name: {
            point.attributes[0].value.string_value: point.as_double or point.as_int for point in points[name]
        }
        for name in ("supervisor.tokens", "supervisor.cost")
    }
    assert parts == {
        "supervisor.tokens": {"judge": 120, "worker": 30},
        "supervisor.cost": {"judge": 0.5, "worker": 0.25},
    }


async def test_what_it_imports_is_imported_beside_the_event_loop(
    tmp_path: Path, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[threading.Thread] = []
    exporting = telemetry._exporting  # noqa: SLF001 - it imports

    def noted(endpoint: str) -> telemetry.Telemetry:
        threads.append(threading.current_thread())
        return exporting(endpoint)

    monkeypatch.setattr(telemetry, "_exporting", noted)
    await _exported(tmp_path, collector.endpoint)
    assert threads
    assert threading.main_thread() not in threads


async def test_without_an_endpoint_nothing_listens_to_the_log(tmp_path: Path) -> None:
    async with asyncio.timeout(WAIT_S):
        await export_log(event_log(tmp_path), FixedConfiguration(), Incidents())


async def test_a_collector_that_is_away_ends_nothing(tmp_path: Path, collector: Collector) -> None:
    away = collector.endpoint
    collector.shutdown()
    collector.server_close()
    await _exported(tmp_path, away, LoggedEvent(at=1000.0, system="supervision", session=KEY, data=STOP))
