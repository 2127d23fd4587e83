"""The user's settings, with the defaults of the design; names of models and what they cost."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Final, Literal, get_args

from msgspec import Meta, Struct
from msgspec.structs import astuple

CONTINUATION_BUDGET = Annotated[int, Meta(ge=1, le=100)]


class ServiceSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model service that is called over HTTP.

    `endpoint` is its base URL, "" for the vendor's default. `model` is the service's name of the model. The
    key is the value of the environment variable `key_env`, else the content of `key_file`, else what the
    system's keyring holds for the service name `keyring`.
    """

    endpoint: Annotated[str, Meta(max_length=1000)] = ""
    model: Annotated[str, Meta(max_length=200)] = ""
    key_env: Annotated[str, Meta(max_length=200)] = ""
    key_file: Annotated[str, Meta(max_length=1000)] = ""
    keyring: Annotated[str, Meta(max_length=200)] = ""


class JudgeSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who judges what rules and gates cannot decide. `auto`: the first backend that works.

    `model` is passed to `claude --model`, is `provider/model` in OpenCode, or names a tier. `seconds` bounds
    all attempts of one judgement. `second_sample`: ask once more where the first answer is near the
    threshold. `without_goal`: also ask at stops without a goal, where a rule suspects something.
    `daily_cents` and `daily_tokens` limit all judging for this user in one day (UTC); None for no limit.
    """

    backend: Literal["auto", "opencode", "claude-cli", "anthropic", "openai", "rules"] = "auto"
    model: Annotated[str, Meta(min_length=1, max_length=200)] = "medium"
    seconds: Annotated[int, Meta(ge=5, le=600)] = 120
    second_sample: bool = True
    without_goal: bool = False
    daily_cents: Annotated[float, Meta(gt=0)] | None = None
    daily_tokens: Annotated[int, Meta(gt=0)] | None = None
    anthropic: ServiceSettings = ServiceSettings(key_env="SUPERVISOR_ANTHROPIC_KEY")
    openai: ServiceSettings = ServiceSettings(key_env="SUPERVISOR_OPENAI_KEY")


class ModelTiers(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Names of models by capability, so that one place defines which is which."""

    small: str = "haiku"
    medium: str = "sonnet"
    large: str = "opus"


class ModelPrice(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Cents for a million tokens. `cached`: of input that the service had cached, None for the same price."""

    input: Annotated[float, Meta(ge=0)]
    output: Annotated[float, Meta(ge=0)]
    cached: Annotated[float, Meta(ge=0)] | None = None


MODEL_NAME = Annotated[str, Meta(min_length=1, max_length=200)]
CENTS = Annotated[float, Meta(ge=0)]


class NamedModel(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model that settings and callers may name: `[models.NAME]`.

    `model` is its name at the host or service. The prices are cents for a million tokens, as in `[price]`.
    `tier`: it serves as this tier, instead of the model that `[tiers]` names.
    """

    model: MODEL_NAME
    input_cents: CENTS | None = None
    output_cents: CENTS | None = None
    tier: Literal["small", "medium", "large"] | None = None


class WorkerSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The headless agents that Supervisor starts.

    `auto`: the host that the session runs in, else the first of claude, opencode, gemini, codex and gateway
    that is there.
    `command` is a program and its arguments, for the backend of that name. `gateway_url` is the base URL of
    an OpenAI-compatible service, "" for $LITELLM_BASE_URL; `gateway_model` is used where only the host's own
    model is asked for. `model` is the default, `models` is by skill. `parallel` workers run at once, the
    others wait. `seconds` is the deadline of one. At `max_cents_per_day` (UTC; judging counts too) none is
    started.
    """

    backend: Literal["auto", "claude", "opencode", "gemini", "codex", "gateway", "command"] = "auto"
    command: tuple[Annotated[str, Meta(min_length=1, max_length=4000)], ...] = ()
    gateway_url: Annotated[str, Meta(max_length=1000)] = ""
    gateway_model: Annotated[str, Meta(max_length=200)] = ""
    model: MODEL_NAME = "self"
    models: dict[str, MODEL_NAME] = {}
    parallel: Annotated[int, Meta(ge=1, le=16)] = 2
    seconds: Annotated[int, Meta(ge=1, le=3600)] = 120
    max_cents_per_day: Annotated[float, Meta(gt=0)] | None = None


RULE_MODE = Literal["on", "ask", "off"]
"""`ask`: the rule alone never sends an agent back; a judge decides first."""


class RuleSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="kebab"):
    """What each rule may do."""

    permission_seeking: RULE_MODE = "on"
    stopped_with_todos: RULE_MODE = "on"
    false_complete: RULE_MODE = "on"
    promised_next_step: RULE_MODE = "on"
    narration: RULE_MODE = "on"
    error_walked_away: RULE_MODE = "on"
    legitimate_stop: RULE_MODE = "on"


GATE_SECONDS = Annotated[int, Meta(ge=1, le=800)]


class GateSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How gates are chosen and run.

    `seconds` is the deadline of one required gate, `advisory_seconds` of an advisory one. A gate that took no
    longer than `trial_seconds` is tried, before it decides, whether it could fail. `detect`: whether gates
    are detected from the project's files. `at_once`: how many suites of all sessions run at a time, 0 for no
    limit. `without_goal`: whether configured required gates run at stops without a goal. `pr`, `ci`: whether
    the pull request and its checks are queried (through gh or glab).
    """

    seconds: GATE_SECONDS = 600
    advisory_seconds: GATE_SECONDS = 120
    trial_seconds: Annotated[int, Meta(ge=0, le=800)] = 60
    detect: bool = True
    at_once: Annotated[int, Meta(ge=0, le=64)] = 1
    without_goal: bool = False
    pr: bool = False
    ci: bool = False


class ConfiguredGate(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A gate that a configuration file defines or changes: `[gate.ID]`.

    Where ID is that of a detected gate, the values given here replace its values. `least`: minimum coverage
    in percent. `enabled = false` removes a gate.
    """

    command: Annotated[str, Meta(min_length=1, max_length=4000)] | None = None
    kind: Literal["tests", "build", "types", "lint", "security", "coverage", "check"] | None = None
    folder: Annotated[str, Meta(max_length=1000)] | None = None
    python: Annotated[str, Meta(max_length=1000)] | None = None
    required: bool | None = None
    seconds: GATE_SECONDS | None = None
    counts: bool | None = None
    alone: bool | None = None
    least: Annotated[float, Meta(ge=0, le=100)] | None = None
    enabled: bool = True


HOOK_COMMAND = Annotated[str, Meta(min_length=1, max_length=4000)]


class TimedHook(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A shell line with a deadline of its own."""

    run: HOOK_COMMAND
    seconds: Annotated[int, Meta(ge=1, le=3600)]


HOOK_COMMANDS = tuple[HOOK_COMMAND | TimedHook, ...]


class RunHooks(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Shell lines around sessions and iterations of `supervisor run`; the first three add to the prompt."""

    before_session: HOOK_COMMANDS = ()
    before_iteration: HOOK_COMMANDS = ()
    after_iteration: HOOK_COMMANDS = ()
    after_session: HOOK_COMMANDS = ()
    on_task_completed: HOOK_COMMANDS = ()
    on_error: HOOK_COMMANDS = ()


class RunSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of `supervisor run`.

    `agent_seconds`: maximum time of one agent. `hook_seconds`: deadline of one hook. `extra`: text for every
    prompt.
    """

    agent_seconds: Annotated[int, Meta(ge=1, le=86_400)] = 3600
    hook_seconds: Annotated[int, Meta(ge=1, le=3600)] = 60
    extra: Annotated[str, Meta(max_length=4000)] = ""
    hooks: RunHooks = RunHooks()


NOTICE_KIND = Literal["waiting", "limited", "stuck", "budget", "ended"]


class NotifySettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of what people are told who are not there, and how; no way is set by default.

    `desktop`: by notify-send or osascript. `command` is a shell line. `webhook` is a URL, of which all behind
    the host is secret. `body` are the fields of the JSON that it gets, in which $title, $message, $kind
    and $project are filled in; without them it gets these four.
    """

    on: tuple[NOTICE_KIND, ...] = get_args(NOTICE_KIND)
    desktop: bool = False
    command: str = ""
    webhook: Annotated[str, Meta(pattern="^(https?://.*)?$")] = ""
    body: dict[str, str] = {}


class LogSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long events stay in the log, and how big it may become; the oldest go first."""

    keep_days: Annotated[int, Meta(ge=1, le=3650)] = 90
    max_megabytes: Annotated[int, Meta(ge=1, le=65_536)] = 256


class TelemetrySettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where traces and metrics go. `endpoint`: the base URL of an OpenTelemetry collector, "" for nowhere."""

    endpoint: str = ""


class TeamSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long a team's database keeps the events of this machine."""

    keep_days: Annotated[int, Meta(ge=1, le=3650)] = 90


TASK_COMPLEXITY = Annotated[int, Meta(ge=1, le=14)]


class LoopSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of the task loop.

    `threshold` failures in a row lead to the next tier, `eco_threshold` in eco mode, which begins with
    `eco_tier`. `complexity` is the highest for the tiers small, medium and large. `max_cents` bounds what the
    recorded tokens of a session may cost, None for no limit. Gates of the kinds `required` must pass for a
    task, besides those that are required anyway; `[gate.ID] required = false` excepts one. A critical finding
    of a gate of the kinds `halt` stops the task.
    """

    max_iterations: Annotated[int, Meta(ge=1, le=100)] = 10
    threshold: Annotated[int, Meta(ge=1, le=100)] = 2
    eco_threshold: Annotated[int, Meta(ge=1, le=100)] = 4
    eco_tier: Literal["small", "medium", "large"] = "small"
    complexity: tuple[TASK_COMPLEXITY, TASK_COMPLEXITY, TASK_COMPLEXITY] = (4, 8, 14)
    stuck_detection: bool = True
    max_cents: Annotated[float, Meta(gt=0)] | None = None
    required: tuple[Literal["tests", "types", "lint", "security", "coverage", "check"], ...] = (
        "tests",
        "check",
    )
    halt: tuple[Literal["security", "check"], ...] = ("security",)


class Mode(StrEnum):
    """How strictly the phases are governed; see systems/governance/policy/table.py."""

    FULL = "full"
    LIGHT = "light"
    SAFE = "safe"
    FAST = "fast"
    CUSTOM = "custom"


GOVERNED_PHASE = Literal["analyze", "plan", "implement", "review", "test", "conduct"]


class ModeRules(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a mode of governed phases asks for; the defaults are those of the mode `custom`.

    `nfr_check`: a review says how each non-functional requirement is met. `manual_review`: a person approves
    each review. `forced_human_intervention`: a person approves the delivery.
    """

    nfr_check: bool = True
    manual_review: bool = False
    max_iterations: Annotated[int, Meta(ge=1, le=100)] = 3
    forced_human_intervention: bool = False


class PhaseSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether the tool of a phase may be called, in which modes, and the mode where none is given."""

    enabled: bool = True
    modes: Annotated[tuple[Mode, ...], Meta(min_length=1)] = tuple(Mode)
    default_mode: Mode = Mode.FULL


class GovernanceSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of governed phases.

    `workers`: headless agents do the work of a phase; else the calling agent does. A lock ends
    `lock_minutes` after its last use. `custom` is the mode of that name, `phase` is by phase.
    """

    workers: bool = True
    lock_minutes: Annotated[int, Meta(ge=1, le=10_080)] = 240
    custom: ModeRules = ModeRules()
    phase: dict[GOVERNED_PHASE, PhaseSettings] = {}


TOOLSET = Literal["core", "journal", "tdd", "loop", "governance"]
"""Tools that are offered together, because every listed tool costs context in every request of the agent."""


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Contents of the user's config.toml.

    `mode` "shadow" judges and records but never continues. `max_attempts` is the budget of continuations.
    Tokens are uncached input plus output; seconds count while the agent was active. `stop_seconds` bounds the
    judging of one stop; it is smaller than the hook timeout in hooks/hooks.json (900) and greater than one
    gate. `goal_max_cents` bounds the cost of judging one goal, None for no limit. `keep_stops`: whether the
    last judged stops of each project are stored, to try a rubric on. `facts_line`: at a stop without a goal
    the person is told in one line what changed. `price` is by model, as its service names it. `toolsets` are
    those offered to agents. `mcp_port` is the port of MCP over HTTP on 127.0.0.1, 0 for a free one.
    """

    mode: Literal["on", "shadow"] = "on"
    max_attempts: CONTINUATION_BUDGET = 16
    goal_max_tokens: Annotated[int, Meta(ge=1)] = 400_000
    goal_max_seconds: Annotated[int, Meta(ge=1)] = 1800
    goal_max_cents: Annotated[float, Meta(gt=0)] | None = None
    resume_paused: bool = False
    stop_seconds: Annotated[int, Meta(ge=1, le=870)] = 840
    idle_minutes: Annotated[int, Meta(ge=1)] = 60
    keep_stops: bool = True
    facts_line: bool = True
    toolsets: tuple[TOOLSET, ...] = ("core", "journal")
    mcp_port: Annotated[int, Meta(ge=0, le=65535)] = 0
    judge: JudgeSettings = JudgeSettings()
    rules: RuleSettings = RuleSettings()
    tiers: ModelTiers = ModelTiers()
    models: dict[str, NamedModel] = {}
    price: dict[str, ModelPrice] = {}
    workers: WorkerSettings = WorkerSettings()
    gates: GateSettings = GateSettings()
    gate: dict[str, ConfiguredGate] = {}
    notify: NotifySettings = NotifySettings()
    log: LogSettings = LogSettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    team: TeamSettings = TeamSettings()
    run: RunSettings = RunSettings()
    loop: LoopSettings = LoopSettings()
    governance: GovernanceSettings = GovernanceSettings()


# --- Names of models and what they cost: both are in the settings, for judging and for workers --------------


TOKEN_COUNT_LIMIT: Final = 1_000_000_000
"""Maximum tokens that a service may report; a higher number is not believed."""
MILLION: Final = 1_000_000


class TokenUsage(Struct, frozen=True):
    """Tokens of one answer: `input` that was not cached, `cached` input, and `output`."""

    input: int = 0
    cached: int = 0
    output: int = 0

    @property
    def tokens(self) -> int:
        """What counts for budgets: uncached input plus output."""
        return self.input + self.output

    def __add__(self, other: TokenUsage) -> TokenUsage:
        return TokenUsage(*(mine + its for mine, its in zip(astuple(self), astuple(other), strict=True)))


Prices = Mapping[str, ModelPrice]
"""By the name that a service gives the model."""
NO_PRICES: Final[Prices] = {}


def answer_price_cents(model: str, usage: TokenUsage, prices: Prices) -> float | None:
    """Price an answer by the exact name of its model, else by the longest prefix; None if unknown."""
    names = [name for name in prices if name and model.startswith(name)]
    if not names:
        return None
    price = prices[max(names, key=len)]
    cached = price.input if price.cached is None else price.cached
    return (usage.input * price.input + usage.cached * cached + usage.output * price.output) / MILLION


def priced_cents(model: str, usage: TokenUsage, told: float | None, prices: Prices) -> float | None:
    """Return what an agent cost: by the user's price of its model, else what it `told`, None if unknown."""
    own = answer_price_cents(model, usage, prices) if usage.tokens else None
    return told if own is None else own


def model_prices(settings: Settings) -> dict[str, ModelPrice]:
    """Return every price in the settings, by the name that a service gives the model."""
    named = {
        one.model: ModelPrice(input=one.input_cents, output=one.output_cents)
        for one in settings.models.values()
        if one.input_cents is not None and one.output_cents is not None
    }
    return settings.price | named


def token_count_or_zero(value: object) -> int:
    """Return a token count that a service reports; 0 if it is not a valid count."""
    return value if type(value) is int and 0 <= value <= TOKEN_COUNT_LIMIT else 0


# --- Model names: settings name a model as its service does, by a name of `[models]`, or by a tier ----------


ALIASES: Final = frozenset(astuple(ModelTiers()))
"""Names that only Claude Code knows."""


def host_model_name(settings: Settings) -> str:
    """Return the name of the model that the host is asked to use."""
    return resolve_model(settings.judge.model, settings)


def service_model_name(service: ServiceSettings, settings: Settings) -> str:
    """Return the service's own setting, else judge.model; "" if no service can know the name."""
    named = resolve_model(service.model or settings.judge.model, settings)
    return "" if named in ALIASES and named != service.model else named


def resolve_model(name: str, settings: Settings) -> str:
    """Return the model that a name of the settings stands for, or the name itself."""
    if entry := settings.models.get(name):
        return entry.model
    if name not in settings.tiers.__struct_fields__:
        return name
    serving = (one.model for one in settings.models.values() if one.tier == name)
    return next(serving, str(getattr(settings.tiers, name)))
