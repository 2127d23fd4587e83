"""Reads changed files as the checks see them: which tests, settings and marks each version of a file has.

    roles.py        what a file is to the checks, by its name
    inspector.py    the port: both versions of every changed file
    tests.py        the tests of a file, by its language
    settings*.py    the values of runner, lint and CI settings
    marks*.py       lines that change what a check sees

Reading weighs nothing: `policy` says what a difference means. A file is data: nothing of it is run.
"""
