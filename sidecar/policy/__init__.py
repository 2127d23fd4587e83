"""The rules of the game, pure: (state, event) -> (state, what to do next).

    skip.py           when a stop is none of our business
    gates.py          which checks apply, and what they decide: the table
    checking.py       the checks of one stop, one after the other
    integrity.py      whether the checks are still what they were
        kept/         how tests, settings and code tell
    evidence.py       the numbered facts of a stop
    claims/           what the agent says it did, and what shows whether it is so
    rules.py          what the shape and wording of a turn prove by themselves
    verdicts.py       when a judge's answer may be believed
    continuations.py  what is sent back, what it costs, and when it is enough
    endings.py        how a goal comes to rest
    stop.py           one stop, from the host's word to the ruling
    commands.py       the commands a person types
    sessions.py       how sessions begin, go on and fork
    masking.py        what is a secret, and how it is taken out

Nothing here reads files, clocks or hosts, and nothing here waits.
"""
