"""The stops at which only the user can go on, and the messages that only sound like one."""

from __future__ import annotations

from sidecar.judging.rules.found import RuleAssessment
from support.cases import edited, ran
from support.endings import CHECKED, EDITED, FAILED, FOUND, Calls, weighed
from support.table import over_table

FIX = "Fix the rounding bug in total()."
PUSH = "Publish the package to our registry."
DENIED = (edited("setup.cfg"), ran("twine upload dist/*", 1, output="HTTPError: 403 Forbidden"))
DOWN = (ran("curl -f https://tax.example/rates", 7, output="curl: (7) connection refused"),)
QUEUED = (edited("jobs/a.sh"), ran("sbatch jobs/a.sh", output="Submitted batch job 7"))
TAKEN_BACK = (edited("pom.xml"), ran("mvn test", 1), ran("git checkout pom.xml"))
NO_GPU = (edited("src/kernel.cu"), ran("ctest", 8, output="no device found"))

ONLY_THE_USER: tuple[tuple[str, str, str, Calls], ...] = (
    ("credentials", PUSH, "The upload is refused with 403. I have no token for this registry.", DENIED),
    ("destructive", FIX, "The old rows are wrong. Shall I delete the 300 rows of `totals`?", EDITED),
    (
        "destructive",
        FIX,
        "The fix needs a dropped table. Nothing has a backup.\n\nPlease tell me whether I may do that.",
        EDITED,
    ),
    ("decision", FIX, "Half up or half even: which rounding does the contract ask for?", FAILED),
    ("waiting-outside", FIX, "The tax service is down, so no rate can be read.", DOWN),
    ("waiting-outside", FIX, "The change is in review; I go on when it is approved.", EDITED),
    ("waiting-outside", FIX, "Submitted. Until it has run, there is no plot.", QUEUED),
    (
        "decision",
        FIX,
        "Either the old files are lost, or the reader for them stays. Do players have saves?",
        FAILED,
    ),
    ("impossible", FIX, "## Not possible\n\nOne.\n\nTwo.\n\nThree. Four. Five. Six. Seven. Eight.", FAILED),
    ("impossible", FIX, "The library needs a newer compiler. I put the file back.", TAKEN_BACK),
    ("impossible", FIX, "The kernel tests cannot pass here, whatever the code does.", NO_GPU),
)


def certain_kind(found: RuleAssessment) -> str:
    return found.legitimate.kind if found.legitimate is not None and found.legitimate.certain else ""


@over_table(("kind", "prompt", "message", "calls"), ONLY_THE_USER)
def test_with_a_goal_too_a_stop_at_which_only_the_user_can_go_on_is_certain(
    kind: str, prompt: str, message: str, calls: Calls
) -> None:
    assert certain_kind(weighed(prompt, message, calls, goal=True)) == kind


SOUNDS_LIKE: tuple[tuple[str, str, Calls], ...] = (
    ("Only admins may call the export.", "The export answers 403 unless the caller is an admin.", EDITED),
    (FIX, "Pushed as 4f2c9ab. All 12 tests pass.", CHECKED),
    (FIX, "I fixed the login form; a missing token is now refused.", CHECKED),
    (PUSH, "I updated the upload: an expired token ends it now.", DENIED),
    (FIX, "Done. The queue is drained before the process ends.", CHECKED),
    ("Richte den Login ein.", "Ich habe den Login eingebaut. Fertig.", CHECKED),
    (FIX, "The tests await the result now.", CHECKED),
    (FIX, "I fixed `total`. Shall I continue?", EDITED),
    (FIX, "`total` rounds once.\n\nThe tests do not pass yet (2 failed).", FAILED),
    (FIX, "Fixed, all tests pass. Want me to also tidy the imports or the docs?", CHECKED),
    ("Add the client.", "Should I add the client?", FOUND),
)


@over_table(("prompt", "message", "calls"), SOUNDS_LIKE)
def test_with_a_goal_work_that_is_told_of_is_no_stop_for_the_user(
    prompt: str, message: str, calls: Calls
) -> None:
    assert certain_kind(weighed(prompt, message, calls, goal=True)) == ""


def test_a_lack_that_was_overcome_further_up_is_none() -> None:
    message = (
        "I had no token at first.\n\nYou gave me one.\n\nThe upload went through.\n\nI bumped the version."
        "\n\nI tagged it.\n\nI updated the notes. Everything is done."
    )
    assert certain_kind(weighed(PUSH, message, DENIED, goal=True)) == ""
