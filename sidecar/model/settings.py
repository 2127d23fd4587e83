"""The user's settings, with the defaults of the design."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

BUDGET = Annotated[int, Meta(ge=1, le=100)]


class Service(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model service that is asked over HTTP.

    `endpoint` is its base URL, "" for the maker's own. `model` is named as the service names it. The key is
    the value of the environment variable `key_env`, else the content of `key_file`, else what the system's
    keyring holds for the service name `keyring`.
    """

    endpoint: Annotated[str, Meta(max_length=1000)] = ""
    model: Annotated[str, Meta(max_length=200)] = ""
    key_env: Annotated[str, Meta(max_length=200)] = ""
    key_file: Annotated[str, Meta(max_length=1000)] = ""
    keyring: Annotated[str, Meta(max_length=200)] = ""


class Judge(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who judges what rules and gates cannot decide. `auto`: the first backend that works.

    `model` is what `claude --model` is given, `provider/model` in OpenCode, or the name of a tier. `seconds`
    bounds all tries of one judgement. `second_sample`: ask once more where the first answer is near the
    threshold. `daily_cents` and `daily_tokens`: limits of all judging for this user in one day (UTC), None
    for none.
    """

    backend: Literal["auto", "opencode", "claude-cli", "anthropic", "openai", "rules"] = "auto"
    model: Annotated[str, Meta(min_length=1, max_length=200)] = "medium"
    seconds: Annotated[int, Meta(ge=5, le=600)] = 120
    second_sample: bool = True
    daily_cents: Annotated[float, Meta(gt=0)] | None = None
    daily_tokens: Annotated[int, Meta(gt=0)] | None = None
    anthropic: Service = Service(key_env="SUPERVISOR_ANTHROPIC_KEY")
    openai: Service = Service(key_env="SUPERVISOR_OPENAI_KEY")


class Tiers(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Names for models by what they can do, so that one place says which is which."""

    small: str = "haiku"
    medium: str = "sonnet"
    large: str = "opus"


class Price(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Cents for a million tokens. `cached`: of input that the service had kept, None where it costs alike."""

    input: Annotated[float, Meta(ge=0)]
    output: Annotated[float, Meta(ge=0)]
    cached: Annotated[float, Meta(ge=0)] | None = None


RULE = Literal["on", "ask", "off"]
"""`ask`: the rule alone never sends an agent back, a judge looks first."""


class Rules(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="kebab"):
    """What each rule may do."""

    permission_seeking: RULE = "on"
    stopped_with_todos: RULE = "on"
    false_complete: RULE = "on"
    promised_next_step: RULE = "on"
    narration: RULE = "on"
    error_walked_away: RULE = "on"
    legitimate_stop: RULE = "on"


GATE_SECONDS = Annotated[int, Meta(ge=1, le=800)]


class Gates(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How gates are chosen and run.

    `seconds`: deadline of one required gate; `advisory_seconds`: of one that only advises. `detect`: whether
    signs in the project name gates. `without_goal`: whether configured required gates run at stops with no
    goal set. `pr`, `ci`: whether the pull request and its checks are looked at (through gh or glab).
    """

    seconds: GATE_SECONDS = 600
    advisory_seconds: GATE_SECONDS = 120
    detect: bool = True
    without_goal: bool = False
    pr: bool = False
    ci: bool = False


class OwnGate(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A gate that a configuration file names or changes: `[gate.ID]`.

    Where ID is that of a detected gate, what is given here replaces its values. `least`: least coverage in
    percent. `enabled = false` takes a gate away.
    """

    command: Annotated[str, Meta(min_length=1, max_length=4000)] | None = None
    kind: Literal["tests", "build", "types", "lint", "security", "coverage", "check"] | None = None
    folder: Annotated[str, Meta(max_length=1000)] | None = None
    required: bool | None = None
    seconds: GATE_SECONDS | None = None
    counts: bool | None = None
    alone: bool | None = None
    least: Annotated[float, Meta(ge=0, le=100)] | None = None
    enabled: bool = True


COMMANDS = tuple[Annotated[str, Meta(min_length=1, max_length=4000)], ...]


class RunHooks(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Shell lines around sessions and iterations of `supervisor run`; the first two may add to the prompt."""

    before_session: COMMANDS = ()
    before_iteration: COMMANDS = ()
    after_iteration: COMMANDS = ()
    after_session: COMMANDS = ()
    on_task_completed: COMMANDS = ()
    on_error: COMMANDS = ()


class Run(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How `supervisor run` works.

    `agent_seconds`: longest time of one agent. `hook_seconds`: deadline of one hook. `extra`: words for every
    prompt.
    """

    agent_seconds: Annotated[int, Meta(ge=1, le=86_400)] = 3600
    hook_seconds: Annotated[int, Meta(ge=1, le=3600)] = 60
    extra: Annotated[str, Meta(max_length=4000)] = ""
    hooks: RunHooks = RunHooks()


TOOLSET = Literal["core", "journal"]
"""Tools that are offered together, since every listed tool costs the agent's context in every request."""


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Contents of the user's config.toml.

    `mode` "shadow" judges and records but never continues. `max_attempts` is the budget of continuations.
    Tokens are uncached input plus output; seconds are those the agent was active. `stop_seconds` bounds the
    judging of one stop: smaller than the hook timeout in hooks/hooks.json (900), greater than one gate.
    `goal_max_cents` bounds what judging one goal may cost, None for no limit. `keep_stops`: the last judged
    stops of each project are kept, to try a rubric on. `price` is by model, as its service names it.
    `toolsets` are those that agents are offered. `mcp_port` is where MCP is served over HTTP on 127.0.0.1, 0
    for a free port.
    """

    mode: Literal["on", "shadow"] = "on"
    max_attempts: BUDGET = 16
    goal_max_tokens: Annotated[int, Meta(ge=1)] = 400_000
    goal_max_seconds: Annotated[int, Meta(ge=1)] = 1800
    goal_max_cents: Annotated[float, Meta(gt=0)] | None = None
    resume_paused: bool = False
    stop_seconds: Annotated[int, Meta(ge=1, le=870)] = 840
    idle_minutes: Annotated[int, Meta(ge=1)] = 60
    keep_stops: bool = True
    toolsets: tuple[TOOLSET, ...] = ("core", "journal")
    mcp_port: Annotated[int, Meta(ge=0, le=65535)] = 0
    judge: Judge = Judge()
    rules: Rules = Rules()
    tiers: Tiers = Tiers()
    price: dict[str, Price] = {}
    gates: Gates = Gates()
    gate: dict[str, OwnGate] = {}
    run: Run = Run()
