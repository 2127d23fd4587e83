"""What the wording of one language consists of.

Each field holds regular expressions, one per line: any of them. They match case-blind and, in a language
that puts spaces between words, begin where a word begins; where they end they say themselves. Every gap in
one is bounded, so that no text makes it slow.
"""

from __future__ import annotations

from msgspec import Struct


class Words(Struct, frozen=True, kw_only=True):
    """The wording of one language. `spaced`: it puts spaces between words.

    How a message ends:
    `leave` asks for leave ("shall I"); `onward` is to go on with the work and no more; `checks` is to run the
    checks; `applies` is to make the change that was found; `extra` marks something beyond the request;
    `lead` may stand before what follows; `promise` opens a sentence about what comes next, `nexts` is the
    same within a sentence, `doing` opens one about what happens this moment, `acts` ends one so at a colon;
    `idle` is a promise of no work ("I'll wait"); `filler` may follow a promise ("one moment"), and takes
    nothing from it; `cut` are words that end no sentence; `hinges` makes something depend on something,
    `yours` on the user; `later` puts it off or makes it optional.

    What a message says of the work:
    `done` claims completion, `made` a change by the agent; `amiss` mentions a failure or a limit in any way;
    `mended` is a failure that is told of as repaired; `passes` claims that tests pass, `told` tells of a run
    that did; `denies` takes a sentence's claim back; `rest` marks work that is left, `alike` leaves it to the
    reader ("the rest is alike").

    Signs of a legitimate stop:
    `choice`, `either` (an alternative within the question), `unclear`, `rights` (credentials and rights),
    `risky` (deletes, publishes, costs; `mild` is the part of it that can be undone), `outside` (waits for
    others), `cannot`, `lacks` (something is not there, or is to be given: what makes of a word for a right a
    right that is lacking).

    What the user asked for:
    `verbs` are orders where they open a sentence or follow `polite`; `work` are other ways to ask for a
    change, `wonder` asks for an answer, `holds` tells the agent to ask or to stop before it goes on, `every`
    asks for all of something, `spares` takes something out of the request, `red` asks for a failure (to
    reproduce one, to write a failing test).

    `common` tells the language; `stop` says nothing about what is asked for. These and `cut` are lists of
    words.
    """

    spaced: bool = True
    leave: str = ""
    onward: str = ""
    checks: str = ""
    applies: str = ""
    extra: str = ""
    lead: str = ""
    promise: str = ""
    nexts: str = ""
    doing: str = ""
    acts: str = ""
    idle: str = ""
    filler: str = ""
    cut: str = ""
    hinges: str = ""
    yours: str = ""
    later: str = ""
    done: str = ""
    made: str = ""
    amiss: str = ""
    mended: str = ""
    passes: str = ""
    told: str = ""
    denies: str = ""
    rest: str = ""
    alike: str = ""
    choice: str = ""
    either: str = ""
    unclear: str = ""
    rights: str = ""
    risky: str = ""
    outside: str = ""
    cannot: str = ""
    lacks: str = ""
    mild: str = ""
    verbs: str = ""
    polite: str = ""
    work: str = ""
    wonder: str = ""
    holds: str = ""
    every: str = ""
    spares: str = ""
    red: str = ""
    common: str = ""
    stop: str = ""
