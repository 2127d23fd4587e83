"""OpenTelemetry: what the log tells of stops and workers, as traces and metrics for a collector.

It is one more reader of the log, so no stop waits for it: the SDK sends from threads of its own, and drops
what a collector does not take. A stop joins the trace that its host handed on. Of texts, the commands of
checks and the reason that a person is told are sent.
"""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import socket
from typing import TYPE_CHECKING, Final

from sidecar import __version__
from sidecar.kernel.log import EventFilter, LoggedEvent, StopJudged, WorkerRan, event_kind
from sidecar.platform.installation import add_package_command
from sidecar.platform.ports import Configuration, EventLog
from sidecar.platform.state import Incidents

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics.export import MetricReader
    from opentelemetry.sdk.trace import SpanProcessor

PACKAGES: Final = "opentelemetry-sdk opentelemetry-exporter-otlp-proto-http"
EXPORTER: Final = "opentelemetry.exporter.otlp.proto.http"
TOLD: Final = EventFilter(kinds=(event_kind(StopJudged), event_kind(WorkerRan)))
PAGE: Final = 500
"""Events that are read at a time."""
SEND_S: Final = 2
"""Seconds that one request to the collector may take, also when the sidecar ends."""
NANOSECONDS: Final = 1_000_000_000
RESULT: Final = "gen_ai.evaluation.result"
"""The event in which the semantic conventions tell what a judge found."""

log = logging.getLogger(__name__)


class Telemetry:
    """Turns events of the log into spans and figures."""

    def __init__(self, spans: SpanProcessor, figures: MetricReader) -> None:
        from opentelemetry.sdk.metrics import MeterProvider  # noqa: PLC0415 - who exports nothing does without
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 - as above
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 - as above

        about = {
            "service.name": "supervisor",
            "service.version": __version__,
            "host.name": socket.gethostname(),
        }
        resource = Resource.create(about)
        self._traces = TracerProvider(resource=resource)
        self._traces.add_span_processor(spans)
        self._tracer = self._traces.get_tracer("supervisor")
        self._metrics = MeterProvider([figures], resource=resource)
        meter = self._metrics.get_meter("supervisor")
        self._stops = meter.create_counter("supervisor.stops", "{stop}", "Stops that were decided")
        self._seconds = meter.create_histogram("supervisor.stop.duration", "s", "How long judging took")
        self._tokens = meter.create_counter("supervisor.tokens", "{token}", "Tokens of judges and workers")
        self._cost = meter.create_counter("supervisor.cost", "cent", "Cost of judges and workers")

    def tell(self, event: LoggedEvent) -> None:
        """Tell of an event; of most kinds there is nothing to tell."""
        match event.data:
            case StopJudged() as stop:
                self._tell_stop(event, stop)
            case WorkerRan() as ran:
                by = {"supervisor.part": "worker", "gen_ai.request.model": ran.model}
                self._tokens.add(ran.tokens, by)
                self._cost.add(ran.cents or 0.0, by)
            case _:
                pass

    def close(self) -> None:
        """Send what is left, within a bound."""
        self._traces.force_flush(SEND_S * 1000)
        self._traces.shutdown()
        self._metrics.shutdown(SEND_S * 1000)

    def _tell_stop(self, event: LoggedEvent, stop: StopJudged) -> None:
        from opentelemetry.trace import set_span_in_context  # noqa: PLC0415 - as above
        from opentelemetry.trace.propagation.tracecontext import (  # noqa: PLC0415 - as above
            TraceContextTextMapPropagator,
        )

        host = event.session.host if event.session else ""
        by = {"supervisor.decided": stop.decided, "supervisor.host": host}
        self._stops.add(1, by)
        self._seconds.record(stop.seconds, by)
        judge = {"supervisor.part": "judge", "gen_ai.request.model": stop.judge}
        self._tokens.add(stop.judge_tokens, judge)
        self._cost.add(stop.judge_cents or 0.0, judge)
        began = event.at - stop.seconds
        parent = TraceContextTextMapPropagator().extract({"traceparent": stop.trace})
        span = self._tracer.start_span("supervisor.stop", parent, start_time=_time(began))
        span.set_attributes({**by, **_details(event, stop)})
        if stop.judge or stop.confidence is not None:
            span.add_event(RESULT, _result(stop), _time(event.at))
        before = began
        for name, ended in stop.stages:
            stage = self._tracer.start_span(name, set_span_in_context(span), start_time=_time(before))
            before = began + ended
            stage.end(_time(before))
        span.end(_time(event.at))


def _details(event: LoggedEvent, stop: StopJudged) -> dict[str, str | tuple[str, ...]]:
    found: dict[str, str | tuple[str, ...]] = {
        "gen_ai.conversation.id": event.session.id if event.session else "",
        "supervisor.project": event.project,
        "supervisor.stage": stop.stage,
        "supervisor.rule": stop.rule,
        "supervisor.continuation": stop.continuation,
        "supervisor.checks": stop.gates,
    }
    return {name: value for name, value in found.items() if value}


def _result(stop: StopJudged) -> dict[str, str | float]:
    score = {} if stop.confidence is None else {"gen_ai.evaluation.score.value": stop.confidence}
    return {
        "gen_ai.evaluation.name": "supervisor.verdict",
        "gen_ai.evaluation.score.label": stop.decided,
        "gen_ai.evaluation.explanation": stop.detail,
        **score,
    }


def _time(seconds: float) -> int:
    return round(seconds * NANOSECONDS)


async def export_log(events: EventLog, configuration: Configuration, incidents: Incidents) -> None:
    """Tell a collector of what is appended from now on, until cancelled; nothing where none is set."""
    endpoint = configuration.load()[0].telemetry.endpoint
    if not endpoint:
        return
    if not _is_installed():
        how = add_package_command(PACKAGES)
        incidents.report(f"Supervisor: telemetry.endpoint is set, and OpenTelemetry is missing. Type: {how}")
        return
    loop, appended, after = asyncio.get_running_loop(), asyncio.Event(), events.last()
    stop_listening = events.listen(lambda: loop.call_soon_threadsafe(appended.set))
    # In a thread: what it imports would hold up the answers of a sidecar that has just started.
    started = asyncio.ensure_future(asyncio.to_thread(_exporting, endpoint))
    try:
        told = await asyncio.shield(started)
        while True:
            await appended.wait()
            appended.clear()
            after = await asyncio.to_thread(_tell_new, told, events, after)
    finally:
        stop_listening()
        told = await asyncio.shield(started)
        await asyncio.shield(asyncio.to_thread(_tell_new, told, events, after))
        await asyncio.shield(asyncio.to_thread(told.close))


def _is_installed() -> bool:
    try:
        return importlib.util.find_spec(EXPORTER) is not None
    except ModuleNotFoundError:  # of a package above it
        return False


def _tell_new(told: Telemetry, events: EventLog, after: int) -> int:
    """Tell of the events after a position; return that of the last one."""
    try:
        while found := events.read(TOLD, after=after, limit=PAGE):
            for event in found:
                told.tell(event)
            after = found[-1].position
    except OSError as error:
        log.warning("nothing could be exported: %s", error)
    return after


def _exporting(endpoint: str) -> Telemetry:
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import (  # noqa: PLC0415 - as above
        OTLPMetricExporter,
    )
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415 - as above
        OTLPSpanExporter,
    )
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader  # noqa: PLC0415 - as above
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415 - as above

    base = endpoint.rstrip("/")
    spans = BatchSpanProcessor(OTLPSpanExporter(f"{base}/v1/traces", timeout=SEND_S))
    return Telemetry(
        spans, PeriodicExportingMetricReader(OTLPMetricExporter(f"{base}/v1/metrics", timeout=SEND_S))
    )
