"""Selects the agent for a task: points for keywords, file types, task type and language, and why.

A task's files are those of its scope, and those of a known language that its words name. A part of which the
task says nothing gives no points to anybody. An agent that names nothing in a part takes anything, for a
share of its points. A type that no word tells is assumed, and counts for that share. Of equal agents, the
first by ID. An agent whose range does not hold the task's complexity comes after all others. Weights, shares
and words are in data/agents.toml.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Final, Literal

from msgspec import Struct

from sidecar.kernel.errors import BadInputError
from sidecar.platform.data import load_data
from sidecar.systems.taskloop.policy.agents import (
    LEAST_COMPLEXITY,
    MOST_COMPLEXITY,
    Agent,
    Complexity,
    TaskType,
    find_paths,
    matches_any,
)

SUPPORT_LIMIT: Final = 3


class _Table(Struct, frozen=True, forbid_unknown_fields=True):
    """The content of data/agents.toml, which says what each value is."""

    keyword_shares: tuple[float, ...]
    any_share: float
    assumed_type: TaskType
    support_points: int
    docs_files: tuple[str, ...]
    inflection: str
    weights: dict[Literal["keywords", "file_types", "task_type", "language"], int]
    task_types: dict[TaskType, tuple[str, ...]]
    languages: dict[str, tuple[str, ...]]


TABLE: Final = load_data("agents", _Table)


class TaskProfile(Struct, frozen=True, kw_only=True):
    """What a selection looks at. `files` are relative to the project.

    Without `task_type` it is recognised by the description and the files. Give it where it is known: a
    description of a symptom often tells no type. Without `complexity` no agent is left out for it.
    """

    description: str
    files: tuple[str, ...] = ()
    task_type: TaskType | None = None
    complexity: Complexity | None = None


class AgentScore(Struct, frozen=True):
    """An agent's points, in all and in the four parts."""

    agent: str
    points: int
    keywords: int
    file_types: int
    task_type: int
    language: int


class AgentSelection(Struct, frozen=True, kw_only=True):
    """The agent for a task by its ID, those that could support it, and the scores of all, the best first.

    `reasoning` has a line for each part that gave the selected agent points, and one for each agent that has
    more points but is not for this complexity. `task_type` and `language` are those given or recognised.
    """

    primary: str
    support: tuple[str, ...]
    scores: tuple[AgentScore, ...]
    reasoning: tuple[str, ...]
    task_type: TaskType
    language: str


class _Task(Struct, frozen=True):
    """A task with what was recognised of it, `by` which words, and the share that its type counts for."""

    profile: TaskProfile
    files: tuple[str, ...]
    language: str
    task_type: TaskType
    by: str
    type_share: float = 1.0


class _Part(Struct, frozen=True):
    """One part of a score. `share` is that of its points; `own`: the agent names what was found."""

    share: float
    why: str
    own: bool = False


class _Scored(Struct, frozen=True):
    """An agent with its parts, as in the weights. `fits`: its range holds the task's complexity."""

    agent: Agent
    fits: bool
    parts: dict[str, _Part]
    score: AgentScore

    @property
    def rank(self) -> tuple[int, str]:
        return -self.score.points, self.agent.id

    @property
    def supports(self) -> bool:
        """Whether a keyword or a file of the task is this agent's own."""
        own = self.parts["keywords"].own or self.parts["file_types"].own
        return self.fits and own and self.score.points >= TABLE.support_points


def select_agent(profile: TaskProfile, agents: Iterable[Agent]) -> AgentSelection:
    """Select the agent for a task. Raises BadInputError without agents."""
    task = _recognize_task(profile)
    scored = sorted((_score_agent(agent, task) for agent in agents), key=lambda one: one.rank)
    if not scored:
        raise BadInputError("there are no agents to select from; reinstall Supervisor, which ships some")
    first, *others = sorted(scored, key=lambda one: not one.fits)
    return AgentSelection(
        primary=first.agent.id,
        support=tuple(one.agent.id for one in others if one.supports)[:SUPPORT_LIMIT],
        scores=tuple(one.score for one in scored),
        reasoning=tuple(_explain_selection(first, scored, profile.complexity)),
        task_type=task.task_type,
        language=task.language,
    )


def _recognize_task(profile: TaskProfile) -> _Task:
    named = filter(_find_language, find_paths(profile.description))
    files = tuple(dict.fromkeys((*profile.files, *named)))
    counts = Counter(filter(None, map(_find_language, files)))
    language = min(counts, key=lambda name: (-counts[name], name), default="")
    if profile.task_type is not None:
        return _Task(profile, files, language, profile.task_type, "given")
    if profile.files and all(matches_any(TABLE.docs_files, file) for file in profile.files):
        return _Task(profile, files, language, "docs", "its files")
    found = {kind: _find_words(words, profile.description) for kind, words in TABLE.task_types.items()}
    kind = max(found, key=lambda one: len(found[one]))  # of as many words, the first in the table
    if not found[kind]:
        return _Task(profile, files, language, TABLE.assumed_type, "assumed, no word tells", TABLE.any_share)
    return _Task(profile, files, language, kind, ", ".join(found[kind]))


def _find_language(file: str) -> str:
    """Return the language of a file by its ending, "" where it is not known."""
    every = TABLE.languages.items()
    return next((name for name, endings in every if file.lower().endswith(endings)), "")


def _find_words(words: Iterable[str], text: str) -> tuple[str, ...]:
    return tuple(word for word in words if _word_pattern(word).search(text))


@cache
def _word_pattern(word: str) -> re.Pattern[str]:
    spaced = r"[\s-]+".join(re.escape(part).replace(r"\*", r"\w+") for part in word.split())
    return re.compile(rf"(?<!\w){spaced}{TABLE.inflection}(?!\w)", re.IGNORECASE)


def _score_agent(agent: Agent, task: _Task) -> _Scored:
    files, kind, language = task.files, task.task_type, task.language
    type_part = _score_part(kind, agent.task_types, kind in agent.task_types, f"{kind} ({task.by})")
    own = sum(matches_any(agent.file_types, file) for file in files)
    parts = {
        "keywords": _score_keywords(agent, task.profile.description),
        "file_types": _score_part(
            files, agent.file_types, own / max(len(files), 1), f"{own} of {len(files)}"
        ),
        "task_type": _Part(type_part.share * task.type_share, type_part.why),
        "language": _score_part(language, agent.languages, language in agent.languages, language),
    }
    points = {name: round(parts[name].share * most) for name, most in TABLE.weights.items()}
    score = AgentScore(agent.id, sum(points.values()), **points)
    complexity = task.profile.complexity
    return _Scored(agent, complexity is None or agent.complexity.holds(complexity), parts, score)


def _score_keywords(agent: Agent, description: str) -> _Part:
    found, shares = _find_words(agent.keywords, description), TABLE.keyword_shares
    share = shares[min(len(found), len(shares) - 1)]
    return _Part(share, ", ".join(found), bool(found))


def _score_part(given: object, named: tuple[str, ...], share: float, why: str) -> _Part:
    """Return the part of what the task gives and the agent names, where both do."""
    if not given:
        return _Part(0, "")
    if not named:
        return _Part(TABLE.any_share, f"{why}, and the agent takes any")
    return _Part(share, why, share > 0)


def _explain_selection(first: _Scored, scored: Sequence[_Scored], complexity: int | None) -> Iterator[str]:
    for name, most in TABLE.weights.items():
        if points := getattr(first.score, name):
            yield f"{name.replace('_', ' ')} {points} of {most}: {first.parts[name].why}"
    outside = [one for one in scored if not one.fits and one.rank <= first.rank]
    for one in outside:
        said = "no agent is for this one" if one is first else "it has more points"
        least, most = one.agent.complexity.min, one.agent.complexity.max
        yield f"complexity {complexity}: {one.agent.id} is for {least} to {most}; {said}"


# --- how complex a task is, from its words and its scope: data/complexity.toml ------------------------------


WILDCARDS: Final = frozenset("*?{[")


class _Weights(Struct, frozen=True, forbid_unknown_fields=True):
    """The data file, which explains its fields."""

    least: int
    words_each: int
    most_words: int
    most_criteria: int
    most_places: int
    hard: int
    most_hard: int
    groups: dict[str, str]


WEIGHTS: Final = load_data("complexity", _Weights)
GROUPS: Final = tuple(re.compile(one, re.IGNORECASE) for one in WEIGHTS.groups.values())


def estimate_complexity(description: str, criteria: tuple[str, ...] = (), scope: tuple[str, ...] = ()) -> int:
    """Return 1 to 14."""
    text = "\n".join((description, *criteria))
    places = {*scope, *filter(_find_language, find_paths(text))}
    found = (
        WEIGHTS.least
        + min(len(description.split()) // WEIGHTS.words_each, WEIGHTS.most_words)
        + min(len(criteria), WEIGHTS.most_criteria)
        + min(max(0, len(places) - 1) + sum(map(_is_wide, scope)), WEIGHTS.most_places)
        + min(sum(group.search(text) is not None for group in GROUPS) * WEIGHTS.hard, WEIGHTS.most_hard)
    )
    return max(LEAST_COMPLEXITY, min(found, MOST_COMPLEXITY))


def _is_wide(glob: str) -> bool:
    return glob.endswith("/") or not WILDCARDS.isdisjoint(glob)
