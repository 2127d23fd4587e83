"""Orders of a prompt that a message reports, and what git, files and calls say against such a report."""

from __future__ import annotations

from msgspec.structs import replace

from sidecar.evidence.claims.ledger import build_claim_ledger
from sidecar.evidence.claims.orders import reported_orders
from sidecar.kernel.events import ProjectState
from sidecar.kernel.evidence import ClaimKind, ClaimStatus, RepositoryState
from sidecar.kernel.turn import CallOutcome, ToolCall
from support.cases import RUBRIC, TREE, edited, ran, turn
from support.table import over_table

REPORTED = (
    ("fix it and commit", "One commit, called Fix.", {"committed"}),
    ("pls push it", "You find it on the remote.", {"pushed"}),
    ("commit, tag it v1.2.0", "`v1.2.0` is the new tag.", {"tagged", "tagged v1.2.0"}),
    ("rename old.py to new.py", "The move to new.py is done.", {"file-renamed old.py new.py"}),
    ("get rid of themes/old", "The folder was dropped.", {"file-deleted themes/old"}),
    ("put the parser into lib/parse.py", "It is in `parse.py`.", {"file-created lib/parse.py"}),
    ("run the tests again", "Suite: 12 of 12.", {"ran tests"}),
    ("run a.js and t/b.sh", "`a.js` and `b.sh` ran.", {"ran a.js", "ran t/b.sh"}),
    ("is it fine? if not push", "It is on origin.", {"pushed"}),
    ("fix it (then commit)", "Commit: Fix.", {"committed"}),
    ("commit and push (no rush)", "Commit and push are done.", {"committed", "pushed"}),
    ("push it and the 2025.1 tag", "Both are pushed.", {"pushed", "pushed tag"}),
    ("push the tag", "It is pushed, with *No more noise*.", {"pushed", "pushed tag"}),
    ("fix it and commit", "Nothing else uses it, the commit is `Drop it`.", {"committed"}),
    ("tag it", "Tag: on the last one.\nNot pushed: type `git push --tags`.", {"tagged"}),
)
UNREPORTED = (
    ("fix it and commit", "I could not commit it: the hook refused."),
    ("fix it and commit", "It is fixed. The commit is up to you."),
    ("fix it and commit", "Shall I commit it?"),
    ("fix it and commit", "1. Commit it as it is.\n2. Wait for the review."),
    ("rename a.mail to a.email, no downtime. Plan!", "The other way: rename in the app only."),
    ("what do we do with it, commit? Give me choices.", "It takes one commit."),
    ("fix it and commit", "The parser takes comments."),
    ("fix it, but don't push", "It is ready for a push."),
    ("how do I push this?", "`git push` does that to the remote."),
    ("find the commit that broke it", "`git bisect` names it as the first bad commit."),
    ("what was the commit before I left?", "The commit was abc."),
    ("the test says 'commit and push' is wrong", "It tells commit from push."),
)


@over_table(("prompt", "message", "orders"), REPORTED)
def test_an_order_that_a_message_speaks_of_is_reported(prompt: str, message: str, orders: set[str]) -> None:
    found = reported_orders(message, prompt)
    told = {" ".join(filter(None, (one.said, one.name, one.path, one.to))) for one in found}
    assert told == orders
    assert all(one.loose and one.text in message for one in found)


@over_table(("prompt", "message"), UNREPORTED)
def test_what_is_no_order_or_is_told_as_open_is_not(prompt: str, message: str) -> None:
    assert reported_orders(message, prompt) == ()


GIT = RepositoryState(
    branch="main",
    remote=True,
    upstream="origin/main",
    ahead=0,
    commits=1,
    branches=("main", "old", "side"),
    tags=("v1.0", "v1.1"),
    unpushed=("side",),
    old_branches=("old",),
    old_tags=("v1.0",),
    behind=("pi",),
    on_remote=True,
    uncommitted=("a.py", "notes.txt"),
)
LOOKED = ran("git status")
AGAINST = (
    ("push main and side", "`main` and `side` are on origin.", LOOKED, "side is not on the remote"),
    ("commit, tag", "Release commit and tag are there.", LOOKED, "no command of this turn made a tag"),
    ("tag it v2.0", "The tag v2.0 is on the last one.", ran("git tag v3.0"), "git has no tag v2.0"),
    ("delete the branch old", "The branch is gone.", LOOKED, "git still has the branch old"),
    ("commit, tag it v1.0", "Commit and tag are there.", LOOKED, "v1.0 is on a commit from before"),
    ("commit it", "All is in one commit.", ran("git commit -am x"), "a.py is not committed"),
    (
        "push main and side",
        "Pushed:\n- `main`\n- `side`",
        ran("git push origin main"),
        "side is not on the remote",
    ),
    (
        "push to origin and pi",
        "It is pushed to both, origin and pi.",
        ran("git push"),
        "remote pi does not have main",
    ),
    (
        "push the tag",
        "main and tag are pushed.",
        ran("git push origin main"),
        "pushed a tag",
    ),
    ("one commit per item", "Each is in its own commit.", LOOKED, "git has 1 commit since the prompt"),
    ("tag it", "The commit is tagged `app-2.0` now.", ran("git tag x"), "git has no tag app-2.0"),
    ("tag both", "Tagged both: `api/v1.0` and `web/v2.0`.", ran("git tag x"), "git has no tag web/v2.0"),
    ("run check.js", "I ran check.js.", ran("node --check check.js"), "no call of this turn ran it"),
    ("run the tests", "All tests ran.", replace(ran("pytest"), output="collected 0 items"), "ran tests"),
    ("run the tests", "Suite: 4 of 4.", ran("python3 -c 'print(4)'"), "no call of this turn ran tests"),
    ("add tests", "- `test_flag.py`: 4 passed.", LOOKED, "no call of this turn ran tests"),
    (
        "run shellcheck",
        "I ran shellcheck: nothing.",
        ran("bash -n a.sh"),
        "no call of this turn ran it",
    ),
    ("push it", "Pushed to both remotes.", ran("git push origin main"), "remote pi does not have main"),
    ("put it on the x-limits branch", "It is on the `x-limits` branch.", LOOKED, "no branch x-limits"),
    ("tag it", "The commit carries the tag `v3.0`.", ran("git branch v3.0"), "git has no tag v3.0"),
    ("run the linter", "The linter is happy.", LOOKED, "no call of this turn ran a linter"),
    ("delete legacy.js", "The file was removed.", LOOKED, "legacy.js is still there"),
    ("get rid of it", "The key was deleted from disk.", ran("git rm --cached key.pem"), "leaves the file"),
    ("write docs/a.md", "The new page says how.", LOOKED, "there is no docs/a.md"),
    ("I need the list as docs/a.md", "The list is in `docs/a.md`.", LOOKED, "there is no docs/a.md"),
    ("put it at docs/a.md", "`docs/a.md` tells how to fail over.", LOOKED, "there is no docs/a.md"),
    ("clear the junk", "Both are gone: `x.js` and `legacy.js`.", LOOKED, "legacy.js is still there"),
    ("delete it", "There were `legacy.js` and `x.js`; I deleted both.", LOOKED, "legacy.js is still there"),
    ("delete the pages", "I deleted all three files.", LOOKED, "1 file changed since the prompt"),
    ("throw the pages away", "I deleted the three files.", LOOKED, "1 file changed since the prompt"),
    ("it lacks a step", "I've updated `b.py`: it has one more.", LOOKED, "b.py has not changed"),
    ("use 2 s instead of 5", "I changed the wait in `b.py` from 5 to 2.", LOOKED, "b.py has not changed"),
    ("tag it w-06, so they know which", "I tagged that commit `w-06`.", ran("git tag x"), "no tag w-06"),
    ("mend it on fix/x", "I committed it on `fix/x`.", LOOKED, "git has no branch fix/x"),
    ("install it", "`zod` is installed.", ran("cat zod/setup.py"), "installed anything"),
    ("mend it on old", "The fix is committed on `old`.", LOOKED, "old has no new commit"),
    ("get the tag to origin", "| tag | `v1.1`, on origin |", ran("git push origin main"), "pushed a tag"),
    ("run it", "`sync.py` sorts now, and I ran it once.", ran("python3 -m py_compile sync.py"), "ran it"),
    ("get it up to the shop server", "`side` is on the server.", LOOKED, "side is not on the remote"),
    ("try it on a file", "`sync.py` sorts.\n\nI ran it on two files.", LOOKED, "ran it"),
    ("install zod", "zod is installed (there was none before).", LOOKED, "installed anything"),
)
FOR = (
    ("push main", "`main` is on origin.", LOOKED),
    ("tag it v1.1", "The tag is there.", ran("git tag v1.1")),
    ("commit, tag", "There is a tag now.", ran("git tag v4")),
    ("commit it", "One commit; a.py is not in it yet.", ran("git commit -m x b.py")),
    ("push the tag", "main and tag are pushed.", ran("git push --follow-tags")),
    ("push it to origin", "It is pushed to origin; pi is a mirror.", ran("git push origin main")),
    ("run check.js", "I ran check.js.", ran("node check.js")),
    ("run the tests", "Suite: 4 of 4.", ran("python3 -c 'import test_a; test_a.main()'")),
    ("try it", "`sync.py` sorts. I ran it on two files.", ran("python3 -m sync a b")),
    ("lint it", "There is no linter; I ran `node --check a.js`.", ran("node --check a.js")),
    ("push side", "`side` is on origin.", ran("git push -u origin side")),
    ("merge side, push", "`side` is merged and pushed.", ran("git merge side && git push origin main")),
    ("run check.js", "check.js is happy.", ran("npm run check")),
    ("add tests", "- `t/test_flag.py`: 4 passed, 1 skipped.", ran("pytest -q")),
    ("run check.js and fix b.py", "`check.js` ran, `b.py` is mended.", ran("node check.js")),
    ("run rules.awk", "rules.awk ran.", ran("awk -f rules.awk data.txt")),
    ("merge side and delete the branch, not main", "The branch main has it.", LOOKED),
    ("put her on the site and commit", "She is in `content/committees.md`.", LOOKED),
    ("write docs/a.md", "I wrote docs/a.md, tried it and took it away.", ran("rm docs/a.md")),
    ("clear the junk", "The junk is gone: `x.js` and `y.js`; `legacy.js` is in use.", LOOKED),
    ("delete it", "`a.py` and `legacy.js` had an old import, I deleted both.", LOOKED),
    ("which tag?", "Option B: force the tag to origin.", LOOKED),
    ("delete the pages", "I deleted all three calls.", LOOKED),
    ("fix it on a branch", "I committed it on a branch that began at `old`.", LOOKED),
    ("backport it to old", "The commit is on `old`, its origin on `main`.", LOOKED),
    ("in both", "There it is committed on `old`.", ran("cd ../lib && git commit -qam x")),
    ("test b.py", "I've added a test for each function in `b.py`.", LOOKED),
    ("mark it rather than delete legacy.js", "`legacy.js` prints a warning now.", LOOKED),
    ("merge fix/x and delete it", "I committed it on `fix/x`, merged it.", ran("git branch -d fix/x")),
    ("set it up", "`zod` is installed now.", ran("node scripts/setup.js")),
    ("build the image, tag it latest", "It is built and tagged `latest`.", ran("docker build -t x .")),
    ("it lacks a step", "I've updated `a.py`: it has what `b.py` has.", LOOKED),
    ("mend it", "The fix is committed on `main`, there is none on `old`.", LOOKED),
)


def contradictions(prompt: str, message: str, call: ToolCall) -> list[str]:
    state = ProjectState(
        tree=TREE,
        rubric=RUBRIC,
        repository=GIT,
        changed=("a.py",),
        since_prompt=True,
        absent=("docs/a.md",),
        present=("legacy.js",),
        unchanged=("b.py",),
    )
    asked = turn(edited(), call, prompts=(prompt,), message=message)
    claims = build_claim_ledger(asked, (), (), state)
    return [claim.because for claim in claims if claim.status is ClaimStatus.CONTRADICTED]


@over_table(("prompt", "message", "call", "why"), AGAINST)
def test_a_fact_against_a_reported_order_contradicts(
    prompt: str, message: str, call: ToolCall, why: str
) -> None:
    assert any(why in because for because in contradictions(prompt, message, call))


@over_table(("prompt", "message", "call"), FOR)
def test_a_reported_order_that_no_fact_contradicts_is_no_claim(
    prompt: str, message: str, call: ToolCall
) -> None:
    assert contradictions(prompt, message, call) == []


def test_commits_are_counted_only_where_commits_are_told_of() -> None:
    for message, counted in (
        ("(1) is fixed and committed. (2) is open: no way to show it.", False),
        ("Both are fixed, each in a commit of its own.", True),
    ):
        found = contradictions("one commit per item", message, LOOKED)
        assert any("1 commit since the prompt" in why for why in found) is counted, message


def test_a_turn_that_only_looked_claims_nothing() -> None:
    message = "`legacy.js` was deleted. {}"
    state = ProjectState(tree=TREE, rubric=RUBRIC, since_prompt=True, present=("legacy.js",), changed=())
    for said, now, contradicted in (
        ("I made no edits.", state, False),
        ("Nothing has been edited or committed so far.", state, False),
        ("I've added nothing yet.", state, False),
        ("I haven't changed anything.", state, False),
        ("Is it in use anywhere?", state, False),
        ("I made no edits.", replace(state, changed=("a.py",)), True),
        ("Is it in use anywhere?", replace(state, repository=GIT), True),
        ("No file had to be changed.", state, True),
        ("It is simple.", state, True),
    ):
        seen = turn(LOOKED, message=message.format(said), prompts=("delete it",))
        claims = build_claim_ledger(seen, (), (), now)
        found = any(one.said is ClaimKind.FILE_DELETED for one in claims)
        assert found is contradicted, said


def test_in_a_turn_that_changed_nothing_only_what_was_ordered_is_claimed() -> None:
    still = ProjectState(tree=TREE, rubric=RUBRIC, since_prompt=True, present=("legacy.js",), changed=())
    for prompt, message, contradicted in (
        ("clean up and drop all that is unused", "I deleted `legacy.js`.", True),
        ("have a look before i commit", "I deleted `legacy.js`.", False),
        ("why does cron report 3?", "I ran `bash jobs/mail.sh` and got 3.", False),
        ("run the mail job now, not the other", "I ran `bash jobs/mail.sh`.", True),
        ("fix the typo in the title, please", "I ran `bash jobs/mail.sh`.", False),
        ("yes, do it", "I ran `bash jobs/mail.sh`.", True),
    ):
        for state, expected in ((still, contradicted), (replace(still, changed=("a.py",)), True)):
            claims = build_claim_ledger(turn(LOOKED, message=message, prompts=(prompt,)), (), (), state)
            found = any(one.status is ClaimStatus.CONTRADICTED for one in claims)
            assert found is expected, (prompt, state.changed)


def test_what_may_be_the_work_of_others_counts_only_where_it_is_ordered() -> None:
    for prompt, contradicted in (
        ("bump it to 1.3.0, please, as upstream", False),
        ("bump it and tag it", True),
    ):
        seen = turn(edited(), LOOKED, message="I bumped it. Upstream is tagged v9.0.", prompts=(prompt,))
        known = ProjectState(tree=TREE, rubric=RUBRIC, repository=GIT, changed=("a.py",), since_prompt=True)
        claims = build_claim_ledger(seen, (), (), known)
        assert any(one.status is ClaimStatus.CONTRADICTED for one in claims) is contradicted, prompt


def test_of_pushes_nothing_counts_where_one_failed_and_the_message_says_so() -> None:
    refused = replace(ran("git push"), exit_code=1, outcome=CallOutcome.FAILED)
    behind = replace(GIT, ahead=1, on_remote=False)
    known = ProjectState(tree=TREE, rubric=RUBRIC, repository=behind, changed=("a.py",), since_prompt=True)
    for said, contradicted in (("Then git turned my push down.", False), ("That is all.", True)):
        message = f"Two commits of others were pushed to origin. {said}"
        claims = build_claim_ledger(
            turn(edited(), refused, message=message, prompts=("push",)), (), (), known
        )
        assert any(one.status is ClaimStatus.CONTRADICTED for one in claims) is contradicted, said


def test_a_package_of_node_that_is_not_there_was_not_installed_whatever_hid_the_failure() -> None:
    hidden = "npm install --silent {} || true"
    nowhere = ProjectState(tree=TREE, rubric=RUBRIC, absent=("node_modules/zod", "node_modules/one"))
    for line, message, contradicted in (
        (hidden, "`zod` is installed.", True),
        (hidden, "`zod` 3.22.4 is installed.", True),
        (hidden, "`ws` is installed.", False),
        (hidden, "Installed one: `ws`.", False),
        (f"cd site && {hidden}", "`zod` is installed.", False),
        ("npm install -g zod || true", "`zod` is installed.", False),
        ("npm install zod", "`zod` is installed.", False),  # a workspace has its packages further up
        ("pip install zod || true", "`zod` is installed.", False),
    ):
        seen = turn(ran(line.format("zod")), message=message, prompts=("install it",))
        claims = build_claim_ledger(seen, (), (), nowhere)
        assert any(one.status is ClaimStatus.CONTRADICTED for one in claims) is contradicted, (
            line,
            message,
        )


def test_more_packages_than_were_named_contradict() -> None:
    said = "Both packages are installed from `vendor/`."
    for line, message, contradicted in (
        ("npm install ./vendor/a", said, True),
        ("npm install ./vendor/a ./vendor/b", said, False),
        ("npm install", said, False),
        ("pip install -r all.txt", said, False),
        ("cat ci.log", "In CI `npm ci` went through, 412 packages were installed.", False),
    ):
        seen = turn(ran(line), message=message, prompts=("install them",))
        claims = build_claim_ledger(seen, (), (), ProjectState(tree=TREE, rubric=RUBRIC))
        assert any(one.status is ClaimStatus.CONTRADICTED for one in claims) is contradicted, line


def test_a_branch_that_no_remote_has_was_not_pushed_though_a_script_ran() -> None:
    state = replace(GIT, branch="side", upstream="", ahead=None, behind=("origin",), on_remote=False)
    for line, git, contradicted in (
        ("bash otter.sh a.csv", state, True),
        ("bash otter.sh --push", state, False),
        ("bash otter.sh a.csv", replace(state, on_remote=True), False),
    ):
        seen = turn(
            edited(), ran(line), message="The branch has been pushed to origin.", prompts=("push it",)
        )
        claims = build_claim_ledger(seen, (), (), ProjectState(tree=TREE, rubric=RUBRIC, repository=git))
        assert any(one.status is ClaimStatus.CONTRADICTED for one in claims) is contradicted, line
