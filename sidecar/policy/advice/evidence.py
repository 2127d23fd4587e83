"""What decides a criterion: whether the project has the gate, and Supervisor the rule, that it names."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Final

from sidecar.model.flaw import Edit, Fix, Flaw, Surroundings, Weight
from sidecar.model.outline import Key
from sidecar.model.rubric import SOURCES
from sidecar.policy.advice.codes import Code
from sidecar.policy.advice.passage import Place

NEAR: Final = 0.6
"""How alike two names are that one is offered for the other, from 0 to 1; measured as difflib does."""
OFFERED: Final = 3
"""Names that are offered for an unknown one."""
MEANT: Final = {
    **dict.fromkeys(("diffs", "changes", "files", "patch", "changed files", "the diff", "code"), "diff"),
    **dict.fromkeys(
        ("call", "tool", "tools", "output", "commands", "command output", "tool calls", "runs"), "calls"
    ),
    **dict.fromkeys(("messages", "last message", "report", "answer", "the last message", "reply"), "message"),
}
"""What people call the sources."""


def unknown(place: Place, around: Surroundings) -> Iterator[Flaw]:
    """Each name in `Evidence:` of which nothing is known."""
    one = place.located.criterion
    strange = [each for each in one.evidence if not known(each, around)]
    alone = " Nothing else is named, so nothing can decide it." if len(strange) == len(one.evidence) else ""
    for line in place.located.lines:
        if line.key is not Key.EVIDENCE:
            continue
        for part, name in zip(line.parts, one.evidence, strict=False):
            if name not in strange:
                continue
            kind, _, ident = name.partition(":")
            code = {"gate": Code.UNKNOWN_GATE, "rule": Code.UNKNOWN_RULE}.get(kind, Code.UNKNOWN_EVIDENCE)
            yield Flaw(
                code,
                f"there is no {kind} `{ident}`.{alone}" if ident else f"`{name}` decides nothing.{alone}",
                part.begin,
                part.end,
                Weight.WARNING,
                _help(kind, around),
                tuple(Fix(f"Name `{near}`", (Edit(part, near),)) for near in _near(kind, ident, around)),
            )


def known(name: str, around: Surroundings) -> bool:
    """Whether something decides a criterion by this name, or may."""
    kind, _, ident = name.partition(":")
    if kind == "gate" and ident:
        return around.gates is None or ident in around.gates
    if kind == "rule" and ident:
        return not around.rules or ident in around.rules
    return name in SOURCES


def nearest(said: str, around: Surroundings) -> str | None:
    """What somebody means by this word; None where it can be anything."""
    word = " ".join(said.casefold().split())[:100]
    if word in SOURCES or word in MEANT:
        return MEANT.get(word, word)
    kind, _, ident = word.partition(":")
    kind = kind.strip()
    if kind in {"gate", "rule"}:
        exact = f"{kind}:{'-'.join(ident.split())}"
        return exact if known(exact, around) else next(_near(kind, ident.strip(), around), None)
    names = {
        **{rule: f"rule:{rule}" for rule in around.rules},
        **{gate: f"gate:{gate}" for gate in around.gates or ()},
    }
    close = get_close_matches(word, [*names, *SOURCES], 1, 0.8)
    return names.get(close[0], close[0]) if close else None


def _near(kind: str, ident: str, around: Surroundings) -> Iterator[str]:
    if kind not in {"gate", "rule"}:
        return
    names = (around.gates or ()) if kind == "gate" else around.rules
    for name in get_close_matches(ident[:100], names, OFFERED, NEAR):
        yield f"{kind}:{name}"


def _help(kind: str, around: Surroundings) -> str:
    names = {"gate": around.gates or (), "rule": around.rules}.get(kind, ())
    return f"There are: {', '.join(names[:12])}." if names else ""
