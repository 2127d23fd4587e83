"""Limits and refusals of model services, in the outputs that the real hosts left when they were recorded."""

from __future__ import annotations

import json
import time
from typing import Any, Final

import pytest

from sidecar.hosts.streams import AnyStream

NOW: Final = time.mktime((2026, 11, 29, 15, 17, 16, 0, 0, -1))
RESETS: Final = 1795969030


def claude(status: int, said: str, error: str, *before: dict[str, Any]) -> str:
    """The lines of Claude Code 2.1.197, without fields that are not read."""
    message = {"id": "1", "content": [{"type": "text", "text": said}]}
    lines: list[dict[str, Any]] = [
        {"type": "system", "subtype": "init", "session_id": "s"},
        *before,
        {"type": "assistant", "session_id": "s", "message": message, "error": error},
        {
            "type": "result",
            "is_error": True,
            "api_error_status": status,
            "result": said,
        },
    ]
    return "\n".join(map(json.dumps, lines))


def rate_limit(**fields: object) -> dict[str, Any]:
    info = {"status": "rejected", "isUsingOverage": False, **fields}
    return {"type": "rate_limit_event", "rate_limit_info": info}


def opencode(status: int, message: str, **headers: str) -> str:
    """What `opencode run --format json` of 1.18.33 printed."""
    data = {
        "message": message,
        "statusCode": status,
        "isRetryable": True,
        "responseHeaders": {"content-type": "application/json", **headers},
    }
    error = {"name": "APIError", "data": data}
    return json.dumps({"type": "error", "timestamp": 1795965389823, "sessionID": "ses_1", "error": error})


CODEX: Final = (
    "You\N{RIGHT SINGLE QUOTATION MARK}ve hit your usage limit. Upgrade to Pro (https://chatgpt.com/explore/"
    "pro), visit https://chatgpt.com/settings/usage to purchase more credits or try again at 4:18 PM."
)
GEMINI: Final = "\n".join(
    (
        "Error when talking to Gemini API Full report available at: /tmp/gemini-client-error.json",
        "TerminalQuotaError: You have exhausted your daily quota on this model.",
        *("    at classifyGoogleError (bundle/chunk.js:307344:16)",) * 9,
        "  cause: {",
        *("    code: 429,",) * 9,
        "An unexpected critical error occurred:[object Object]",
    )
)


def codex(message: str) -> str:
    """What `codex exec --json` of 0.171.0 printed."""
    lines = ({"type": "turn.started"}, {"type": "turn.failed", "error": {"message": message}})
    return "\n".join(json.dumps(line, ensure_ascii=False) for line in lines)


def at(hour: int, minute: int = 0, day: int = 29) -> float:
    return time.mktime((2026, 11, day, hour, minute, 0, 0, 0, -1))


HIT: Final = "You've hit your limit \N{MIDDLE DOT} resets 4:17pm (UTC)"
TOO_MANY: Final = "Number of request tokens has exceeded your per-minute rate limit"


@pytest.mark.proves("runs and the journal")
@pytest.mark.parametrize(
    ("printed", "complaint", "until"),
    [
        (claude(429, HIT, "rate_limit", rate_limit(resetsAt=RESETS)), "", RESETS),
        (claude(429, f"API Error: Request rejected (429): {TOO_MANY}", "rate_limit"), "", 0.0),
        (claude(429, "Server is temporarily limiting requests", "rate_limit", rate_limit()), "", 0.0),
        (claude(529, "API Error: 529 Overloaded.", "server_error"), "", 0.0),
        (HIT, "", at(16, 17)),  # claude -p --output-format text
        (opencode(429, TOO_MANY, **{"retry-after": "2"}), "", 1795965391.823),
        (opencode(529, "Overloaded"), "", 0.0),
        (codex(CODEX), "Reading additional input from stdin...", at(16, 18)),
        ("", f"OpenAI Codex v0.171.0\n--------\nuser\nhi\nERROR: {CODEX}", at(16, 18)),
        (codex("exceeded retry limit, last status: 429 Too Many Requests"), "", 0.0),
        (codex("Selected model is at capacity. Please try a different model."), "", 0.0),
        ("", GEMINI, 0.0),
        ("rate limit reached, resets at 3am", "", at(3, day=30)),
        ("rate limit reached, resets at 3:16 pm", "", 0.0),  # just now: the clocks differ
    ],
)  # fmt: skip
def test_a_limit_is_known_by_fields_and_else_by_words(
    printed: str, complaint: str, until: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time", lambda: NOW)
    stream = AnyStream(lambda _said: None)
    stream.feed(f"{printed}\n")
    told = stream.close(printed, complaint)
    assert told.limited is not None
    assert told.limited.until == pytest.approx(until)
    assert told.refused == ""


@pytest.mark.parametrize(
    ("printed", "complaint", "refused"),
    [
        (claude(401, "Invalid API key", "authentication_failed"), "", "Invalid API key"),
        ("Invalid API key \N{MIDDLE DOT} Please run /login", "", "Please run /login"),
        (opencode(401, "invalid x-api-key"), "", "invalid x-api-key"),
        (codex("unexpected status 401 Unauthorized: Incorrect API key provided"), "", "401 Unauthorized"),
        ("", "_ApiError: API key not valid. Please pass a valid API key.", "API key not valid"),
        (claude(500, "rate limit reached in src/limiter.py", "server_error"), "", ""),  # the field decides
        ("Traceback (most recent call last): ...", "", ""),
    ],
)  # fmt: skip
def test_refused_credentials_and_other_failures_are_no_limit(
    printed: str, complaint: str, refused: str
) -> None:
    stream = AnyStream(lambda _said: None)
    stream.feed(f"{printed}\n")
    told = stream.close(printed, complaint)
    assert told.limited is None
    assert bool(told.refused) is bool(refused)
    assert refused in told.refused
