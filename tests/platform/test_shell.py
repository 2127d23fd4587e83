"""What is understood of a shell line: which commands run, and whether its exit code tells how they ended."""

from __future__ import annotations

import pytest

from sidecar.kernel.turn import CommandRun, FailureHandling
from sidecar.platform.shell.line import parse_simple_commands
from support.table import over_table

DECIDES, SWALLOWED, UNKNOWN = FailureHandling.DECIDES, FailureHandling.SWALLOWED, FailureHandling.UNKNOWN


def only(line: str, name: str = "pytest") -> CommandRun:
    """Find the one run of a name in a line."""
    (found,) = (run for run in parse_simple_commands(line) if name in run.argv)
    return found


FATES: dict[str, FailureHandling] = {
    # alone, and last
    "pytest": DECIDES,
    "pytest -q tests": DECIDES,
    "pytest;": DECIDES,
    "pytest # || true": DECIDES,
    "cd app && pytest": DECIDES,
    "cd app; pytest": DECIDES,
    "ls | wc -l; pytest": DECIDES,
    "source .venv/bin/activate && pytest": DECIDES,
    "export CI=1; pytest": DECIDES,
    "CI=1 pytest": DECIDES,
    "time pytest": DECIDES,
    "timeout 60 pytest": DECIDES,
    "env CI=1 pytest": DECIDES,
    "command pytest": DECIDES,
    "exec pytest": UNKNOWN,
    "xargs pytest < list": DECIDES,
    "echo a b | xargs pytest": DECIDES,
    "pytest > log 2>&1": DECIDES,
    "pytest <<EOF\n|| true\nEOF": DECIDES,
    'PY=.venv/bin/python; "$PY" -m pytest': UNKNOWN,
    '"$VENV/bin/python" -m pytest': DECIDES,
    # lists
    "pytest && echo ok": DECIDES,
    "ruff check && pytest && mypy": DECIDES,
    "pytest || exit 1": DECIDES,
    "pytest || exit": DECIDES,
    "pytest || exit $?": DECIDES,
    "pytest || false": UNKNOWN,
    "pytest || { echo failed; exit 1; }": UNKNOWN,
    "pytest && echo ok || exit 1": DECIDES,
    "pytest || true": SWALLOWED,
    "pytest || echo failed": SWALLOWED,
    "pytest || exit 0": UNKNOWN,
    "pytest || exit 256": UNKNOWN,
    "pytest && echo ok || echo bad": SWALLOWED,
    "pytest; echo ok": SWALLOWED,
    "pytest; exit 0": UNKNOWN,
    'pytest; echo "exit: $?"': SWALLOWED,
    "cd app && pytest; ls": SWALLOWED,
    "pytest; exit 1": UNKNOWN,
    # the code is kept
    "pytest; exit $?": UNKNOWN,
    "pytest; exit": UNKNOWN,
    "pytest; echo ok; exit $?": UNKNOWN,
    "pytest; rc=$?; echo done; exit $rc": UNKNOWN,
    "pytest; UID=$?; exit $UID": UNKNOWN,
    "pytest; exit $(cat code)": UNKNOWN,
    "pytest; [ $? -eq 0 ] || exit 1": UNKNOWN,
    "pytest; test $? -eq 0": UNKNOWN,
    "pytest; [ $? -ne 0 ]": UNKNOWN,
    "bad=0; pytest || bad=1; ruff check || bad=1; exit $bad": UNKNOWN,
    # set -e
    "set -e; pytest; echo ok": UNKNOWN,
    "set -euo pipefail; pytest | tee log; echo ok": UNKNOWN,
    "set -e; set +e; pytest; echo ok": UNKNOWN,
    "set -e; pytest || true; echo ok": SWALLOWED,
    "set -e; pytest && ls; echo ok": UNKNOWN,
    "set -e; if pytest; then ls; fi; echo ok": UNKNOWN,
    "set -e; (pytest; echo a); echo ok": UNKNOWN,
    "set -e; x=$(pytest); echo ok": UNKNOWN,
    "set -n; pytest": UNKNOWN,
    "(set -e); pytest; echo ok": UNKNOWN,
    # pipes
    "pytest | tail": SWALLOWED,
    "pytest 2>&1 | tee log": SWALLOWED,
    "pytest |& grep passed": SWALLOWED,
    "cd app && pytest 2>&1 | tail -5": SWALLOWED,
    "pytest && ls > x | cat": DECIDES,
    "yes | pytest": DECIDES,
    "set -o pipefail; pytest | tail": DECIDES,
    "pytest | tee log; exit ${PIPESTATUS[0]}": UNKNOWN,
    'pytest | tail; echo "${PIPESTATUS[0]}"': SWALLOWED,
    "pytest <<EOF | tail\nx\nEOF": SWALLOWED,
    "pytest <<EOF && ls\nx\nEOF": DECIDES,
    # turned around, and asked about
    "! pytest": SWALLOWED,
    "! pytest | tail": SWALLOWED,
    "! tail | pytest": SWALLOWED,
    "if pytest; then echo ok; fi": UNKNOWN,
    "if pytest; then echo ok; else exit 1; fi": UNKNOWN,
    "if ! pytest; then exit 1; fi": UNKNOWN,
    "if ! pytest; then echo bad; fi": SWALLOWED,
    "if true; then pytest; fi": UNKNOWN,
    "if [ -d tests ]; then pytest; fi": UNKNOWN,
    "if [ -d tests ]; then pytest; fi; ls": UNKNOWN,
    "[ -d tests ] && pytest": DECIDES,
    "while pytest; do ls; done": UNKNOWN,
    "until pytest; do sleep 1; done": UNKNOWN,
    "for i in 1 2; do pytest; done": UNKNOWN,
    "for i in 1 2; do pytest || exit 1; done": UNKNOWN,
    "set -e; for i in 1 2; do pytest; done": UNKNOWN,
    "case $1 in a) pytest;; esac": UNKNOWN,
    "case $1 in a) pytest;& b) true;; esac": UNKNOWN,
    # shells within
    "(cd app; pytest)": DECIDES,
    "(pytest; ls)": SWALLOWED,
    "(pytest) || true": SWALLOWED,
    "(exit 0); pytest": UNKNOWN,
    "{ pytest; }": DECIDES,
    "{ pytest; } 2>&1 | tail": SWALLOWED,
    "{ pytest; ls; }": SWALLOWED,
    "x=$(pytest)": UNKNOWN,
    "x=$(pytest); echo $x": SWALLOWED,
    "echo $(pytest)": SWALLOWED,
    "echo `pytest`": SWALLOWED,
    "export X=$(pytest)": UNKNOWN,
    "diff <(pytest) old": SWALLOWED,
    "bash -c 'pytest'": DECIDES,
    "bash -c 'pytest; true'": SWALLOWED,
    "bash -ec 'pytest; true'": UNKNOWN,
    "bash -o pipefail -c 'pytest | tail'": UNKNOWN,
    "sh -c 'pytest' || true": SWALLOWED,
    "timeout 60 bash -lc 'pytest'": DECIDES,
    "docker compose exec app sh -c 'pytest'": DECIDES,
    "bash -c \"sh -c 'pytest; ls'\"": SWALLOWED,
    'bash -c "pytest; exit $?"': UNKNOWN,
    "set -e; bash -c 'pytest; true'": UNKNOWN,
    # behind
    "pytest &": SWALLOWED,
    "pytest & wait $!": UNKNOWN,
    "sleep 1 & pytest": DECIDES,
    "nohup pytest &": SWALLOWED,
    # what ends the shell otherwise
    "trap 'exit 0' EXIT; pytest": UNKNOWN,
    "trap 'rm -f x' EXIT; pytest": UNKNOWN,
    "exit 0; pytest": UNKNOWN,
    "eval $SETUP; pytest": UNKNOWN,
    "source ./setup.sh; pytest": UNKNOWN,
    "$SETUP && pytest": UNKNOWN,
    "coproc pytest": UNKNOWN,
    # functions and what is not followed
    "f() { pytest; }; f": UNKNOWN,
    "alias exit=true; pytest; exit 1": UNKNOWN,
    "pytest && (": UNKNOWN,
    "pytest 'never closed": UNKNOWN,
    "pytest; )": UNKNOWN,
    "time { pytest; }": UNKNOWN,
}


@over_table("line", FATES)
def test_what_becomes_of_a_failure(line: str) -> None:
    found = [run for run in parse_simple_commands(line) if "pytest" in run.argv or run.argv == ()]
    assert {run.fate for run in found[-1:]} == ({FATES[line]} if found else {UNKNOWN})


WORDS: dict[str, tuple[str, ...]] = {
    "pytest -k 'not slow' tests": ("pytest", "-k", "not slow", "tests"),
    'pytest -k "a b"c\\ d': ("pytest", "-k", "a bc d"),
    "'pytest' \"-q\"": ("pytest", "-q"),
    "py''test -q": ("pytest", "-q"),
    'pytest "$X" $(ls) `pwd`': ("pytest", "$X", "$(ls)", "`pwd`"),
    'pytest -k "say \\"hi\\" \\$x"': ("pytest", "-k", 'say "hi" $x'),
    "pytest \\\n  -q": ("pytest", "-q"),
    "pytest $'a'": ("pytest", "a"),
    "env CI=1 timeout 60 uv run pytest": ("env", "CI=1", "timeout", "60", "uv", "run", "pytest"),
    "pytest tests/{a,b}.py": ("pytest", "tests/{a,b}.py"),
}


@over_table("line", WORDS)
def test_words_stand_without_their_quotes(line: str) -> None:
    found = next(run for run in parse_simple_commands(line) if "pytest" in run.argv)
    assert found.argv == WORDS[line]


@pytest.mark.parametrize(
    ("line", "argv"),
    [
        ("pytest </dev/null -q tests", ("pytest", "-q", "tests")),
        ("make && pytest 2>/dev/null tests/test_a.py", ("pytest", "tests/test_a.py")),
        ("pytest >log -x 2>&1 -q", ("pytest", "-x", "-q")),
    ],
)
def test_words_behind_a_redirection_are_words_of_its_command(line: str, argv: tuple[str, ...]) -> None:
    assert parse_simple_commands(line)[-1].argv == argv


def test_assignments_stand_apart_from_the_words() -> None:
    run = only("CI=1 X='a b' pytest -q")
    assert (run.argv, run.assignments) == (("pytest", "-q"), ("CI=1", "X=a b"))


def test_commands_are_listed_in_the_order_of_the_shell() -> None:
    line = "cd x && a $(b) | c || { d; e; } & f; bash -c 'g; h'"
    assert [run.argv[0] for run in parse_simple_commands(line)] == [
        "cd",
        "b",
        "a",
        "c",
        "d",
        "e",
        "f",
        "g",
        "h",
    ]


MARKS: dict[str, set[str]] = {
    "pytest": {"implied", "blamed"},
    "pytest >/dev/null": {"silenced", "implied", "blamed"},
    "pytest 2>/dev/null": {"silenced", "implied", "blamed"},
    "pytest > log 2>&1": {"silenced", "implied", "blamed"},
    "pytest &> log": {"silenced", "implied", "blamed"},
    "pytest 2>&1": {"implied", "blamed"},
    "pytest >&2": {"implied", "blamed"},
    "pytest > /dev/stderr": {"implied", "blamed"},
    "pytest < input": {"implied", "blamed"},
    ">log pytest": {"silenced", "implied", "blamed"},
    "{ pytest; } > log": {"silenced", "implied", "blamed"},
    "x=$(pytest)": {"silenced"},
    "pytest && ls > log": {"implied", "blamed"},
    "ls && pytest > log": {"silenced", "implied", "blamed"},
    "set -o pipefail; pytest | tail": {"implied", "blamed"},
    "set -o pipefail; pytest | tee log > /dev/null": {"silenced", "implied", "blamed"},
    "cd app && pytest": {"implied", "blamed"},
    "make build && pytest": {"implied"},
    "pytest && git push": {"implied"},
    "ls || pytest": {"blamed"},
    "if [ -d x ]; then pytest; fi": set(),
    "[ -d x ] && pytest": {"implied"},
    "for f in *; do pytest $f || exit 1; done": set(),
    "pytest; exit 1": set(),
    "pytest &": {"background"},
    "(cd x; pytest) & ls": {"background"},
    "pytest() { :; }; pytest": set(),
    "alias pytest=true; pytest": set(),
    "PATH=/tmp/x:$PATH pytest": set(),
    "export PATH=$PWD/fake:$PATH; pytest": set(),
    "PATH=.venv/bin:$PATH pytest": {"implied", "blamed"},
    'export PATH="$HOME/.local/bin:/usr/bin:$PATH"; pytest': {"implied", "blamed"},
}


@over_table("line", MARKS)
def test_what_else_is_known_of_a_command(line: str) -> None:
    run = [run for run in parse_simple_commands(line) if "pytest" in run.argv][-1]
    names = ("silenced", "background", "implied", "blamed")
    assert {name for name in names if getattr(run, name)} == MARKS[line]


HOSTILE = {
    "nothing": "",
    "blanks": " \n\t",
    "too long": "pytest " + "a " * 9000,
    "open parentheses": "(" * 8000,
    "open substitutions": "$(" * 4000,
    "closed substitutions": "echo " + "$(" * 1000 + "a" + ")" * 1000,
    "deep groups": "{ " * 500 + "a;" + " }" * 500,
    "a long list": " && ".join(["a"] * 1500),
    "a long pipe": "|".join(["a"] * 4000),
    "many commands": ";".join(["a"] * 4000),
    "many elifs": "if a; then b; " + "elif c; then d; " * 400 + "fi",
    "many cases": "case a in " + "a) b;; " * 1000 + "esac",
    "deep loops": "for i in 1; do " * 20 + "a || break" + "; done" * 20,
    "shells in shells": "bash -c " * 900 + "'a'",
    "quotes": "'\"`" * 2000,
    "here strings": "<<<" * 2700,
    "documents": "cat <<E\n" * 900,
    "no text": "a\0b; \ud800 c",
    "a comment in a list": "a && # x\nb",
    "one reserved word": "then",
    "nothing but a redirection": "> x",
    "a part that is missing": "a | | b",
}


@over_table("case", HOSTILE)
def test_a_hostile_line_is_read_within_bounds(case: str) -> None:
    found = parse_simple_commands(HOSTILE[case])
    assert len(found) <= 50
    assert all(len(word) <= 1000 for run in found for word in run.argv)


def test_a_line_that_is_too_long_runs_nothing_that_we_know_of() -> None:
    assert parse_simple_commands("pytest; # " + "x" * 9000) == ()


def test_only_the_first_fifty_commands_are_listed() -> None:
    assert [run.argv for run in parse_simple_commands("; ".join(f"c{n}" for n in range(70)))] == [
        (f"c{n}",) for n in range(50)
    ]
