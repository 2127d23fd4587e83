"""The rules of the game, pure: (state, event) -> (state, what to do next).

    skip.py           when a stop is none of our business
    rules.py          what the shape and wording of a turn prove by themselves
    gates.py          which checks apply, and what they decide
    verdicts.py       when a judge's answer may be believed
    continuations.py  what is sent back, what it costs, and when it is enough
    stop.py           one stop, from the host's word to the ruling
    goal.py           the commands a person types
    sessions.py       how sessions begin, go on and fork
    masking.py        what is a secret, and how it is taken out

Nothing here reads files, clocks or hosts, and nothing here waits.
"""
