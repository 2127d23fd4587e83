"""The rules of the game, pure: (state, event) -> (state, what to do next).

    skip.py           when a stop is none of our business
    gates.py          which checks apply, and what they decide: the table
    checking.py       the checks of one stop, one after the other
    integrity.py      whether the checks are still what they were
        kept/         how tests, settings and code tell
    evidence.py       the numbered facts of a stop
    worth.py          which of them are proof
    steering.py       text addressed to the judge, found and left out
        steer/        by its form, and by its words in a dozen languages
    claims/           what the agent says it did, and what shows whether it is so
    rules/            what the shape and wording of a turn prove by themselves, one file per rule
    case.py           what a model may see of a stop
        diffs.py      the changed files for a reader; telling.py: the most telling first
    judging.py        when a model is asked, how often, and what follows from its answer
    verdicts.py       when that answer may be believed; subject.py: what a goal is about
    rubrics.py        whose edit of the rubric counts
    continuations.py  what is sent back, what it costs, and when it is enough
    endings.py        how a goal comes to rest
    stop.py           one stop, from the host's word to the ruling
    commands.py       the commands a person types
    sessions.py       how sessions begin, go on and fork
    masking.py        what is a secret, and how it is taken out
    figures.py        how right a judge is; intervals.py: and how sure that is

Nothing here reads files, clocks or hosts, and nothing here waits.
"""
