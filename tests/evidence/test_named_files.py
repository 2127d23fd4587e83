"""A file that a message tells of as made, and that is nowhere, contradicts it; one only named does not."""

from __future__ import annotations

from msgspec.structs import replace

from sidecar.evidence.claims.ledger import build_claim_ledger, claimed_files
from sidecar.kernel.events import ProjectState
from sidecar.kernel.evidence import ClaimStatus
from sidecar.kernel.turn import ToolCall
from support.cases import RUBRIC, TREE, edited, ran, turn
from support.table import over_table

MADE = (
    ("I also added `spec/b.rb`, without one for dates.", "spec/b.rb"),
    ("I made `a.html`, `b.html` and `c.html`.", "c.html"),
    ("New in the folder:\n\n| File | What |\n|---|---|\n| `.env.example` | all names |", ".env.example"),
    ("## Created\n- `notes.md`: the plan", "notes.md"),
    ("It works. What I added:\n\n1. **`a.md`**: one\n2. **`b.md`**: two", "b.md"),
    ("The owners are now in `.github/CODEOWNERS`.", ".github/CODEOWNERS"),
    ("A copy was placed at `old/a.yaml` before anything changed.", "old/a.yaml"),
    ("`pkg/__init__.py` was generated.", "pkg/__init__.py"),
)
NAMED = (
    ("The README links to `docs/a.md`, which is not there.", "docs/a.md"),
    ("`docs/a.md`: not written", "docs/a.md"),
    ("I did not create `docs/a.md`.", "docs/a.md"),
    ("It is best to write `docs/a.md` first.", "docs/a.md"),
    ("Then log for a week into `logs/a.csv`.", "logs/a.csv"),
    ("The branch `release/1.x` has it.", "release/1.x"),
    ("I will put it into `docs/a.md`.", "docs/a.md"),
    ("Should it be added to `docs/a.md`?", "docs/a.md"),
    ("`os.path` is used.", "os.path"),
    ("It was put on `example.com/docs/a.html`.", "example.com/docs/a.html"),
    ("It was pushed to `acme/shop.git`.", "acme/shop.git"),
    ("The parser of `lib/a.ts` has the same fault.", "lib/a.ts"),
    ("I added `clean` and marked it `.PHONY`.", ".PHONY"),
    ("I added a `.catch` to the call.", ".catch"),
)


def is_contradicted(message: str, path: str, *calls: ToolCall, changed: tuple[str, ...] = ("x.py",)) -> bool:
    state = ProjectState(tree=TREE, rubric=RUBRIC, changed=changed, since_prompt=True, absent=(path,))
    seen = turn(*calls, message=message, prompts=("Do it all.",))
    claims = build_claim_ledger(seen, (), (), state)
    return any(claim.status is ClaimStatus.CONTRADICTED for claim in claims)


@over_table(("message", "path"), MADE)
def test_a_file_that_is_told_as_made_and_is_nowhere_contradicts(message: str, path: str) -> None:
    assert path in claimed_files(message, "Do it all.")
    assert is_contradicted(message, path, edited("x.py"))


@over_table(("message", "path"), NAMED)
def test_a_file_that_is_only_spoken_of_does_not(message: str, path: str) -> None:
    assert not is_contradicted(message, path, edited("x.py"))


def test_what_was_not_made_is_not_told_as_made() -> None:
    assert not is_contradicted("I made no `fr.json`, the agency does.", "fr.json", edited("x.py"))
    assert is_contradicted("I made `fr.json` as well.", "fr.json", edited("x.py"))


def test_what_a_commit_of_others_adds_is_not_told_as_made() -> None:
    said = "I fetched it to look: it adds `scenes/fox.md`, which has the old name."
    assert not is_contradicted(said, "scenes/fox.md", edited("x.py"))


def test_a_file_that_the_turn_removed_or_a_turn_without_edits_does_not() -> None:
    message = "The old `docs/a.md` is not used now."
    assert not is_contradicted(message, "docs/a.md", edited("x.py"), changed=("docs/a.md",))
    assert not is_contradicted("`docs/b.md` has it.", "docs/b.md", ran("cat x"))


def test_a_command_that_edits_in_place_and_changed_nothing_in_a_named_file_contradicts() -> None:
    message = "Logs are kept for 30 days now (`[logs]` in `etc/logs.toml`)."
    paths = ("etc/logs.toml",)
    quiet = ProjectState(tree=TREE, rubric=RUBRIC, since_prompt=True, present=paths, unchanged=paths)
    for state, line, contradicted in (
        (quiet, "sed -i 's/7 /30 /' etc/logs.toml", True),
        (quiet, "sed -n 's/7 /30 /p' etc/logs.toml", False),
        (quiet, "sed -i 's/7/30/' etc/other.toml", False),
        (replace(quiet, unchanged=()), "sed -i 's/7/30/' etc/logs.toml", False),
        (replace(quiet, since_prompt=False), "sed -i 's/7/30/' etc/logs.toml", False),
    ):
        seen = turn(ran(line), message=message, prompts=("Keep the logs of a month in that file.",))
        for changed in (None, ()):
            claims = build_claim_ledger(seen, (), (), replace(state, changed=changed))
            assert any(one.status is ClaimStatus.CONTRADICTED for one in claims) is contradicted, line


PAGES = "There is a page for each:\n\n- `docs/a.md` \u2013 the parser\n- `docs/b.md` \u2013 {}"
FILES = "All {} files have the key:\n\n| File | Key |\n|---|---|\n| `docs/a.md` | x |\n| `docs/b.md` | {} |"
DOTTED = "Both are there, uncommitted, for you to read:\n\n1. **docs/a.md**: it\n2. **.editorconfig**: tabs"
LISTED = (
    (PAGES.format("the writer"), "docs/b.md", True),
    (PAGES.format("is to come"), "docs/b.md", False),
    (PAGES.format("not written"), "docs/b.md", False),
    (PAGES.format("the writer"), "", False),
    (DOTTED, ".editorconfig", True),
    ("## Next steps\n" + PAGES.format("the writer"), "docs/b.md", False),
    (FILES.format("two", "y"), "", True),
    (FILES.format("three", "y"), "", False),
    (FILES.format("two", "had it"), "", False),
    ("It is 45 in `docs/a.md` and `docs/b.md` now.", "", True),
    ("I changed `docs/a.md` so that it fits `docs/b.md`.", "", False),
    ("I changed `docs/a.md` and `docs/b.md` later.", "", False),
    ("I changed `docs/a.md` and `user.save`.", "user.save", False),
    ("All two are on 8443 now:\n\n```\ndocs/a.md\ndocs/b.md\n```", "", True),
    ("The version is 1.4 in\n\n1. `docs/a.md`\n2. `docs/b.md`", "", True),
    ("All are in place now:\n\n    docs/a.md\n    docs/b.md", "docs/b.md", True),
    (FILES.format("two", "y").replace("All two", "Two of the three"), "", False),
)


@over_table(("message", "absent", "contradicted"), LISTED)
def test_a_list_of_files_is_the_work_of_a_turn_that_changed_some_of_them(
    message: str, absent: str, *, contradicted: bool
) -> None:
    state = ProjectState(
        tree=TREE,
        rubric=RUBRIC,
        changed=("docs/a.md",),
        since_prompt=True,
        absent=(absent,) if absent else (),
        unchanged=() if absent else ("docs/b.md",),
    )
    for changed, expected in (
        (("docs/a.md",), contradicted),
        ((), False),
        (("docs/a.md", "docs/b.md", ".editorconfig"), False),
    ):
        seen = turn(edited("docs/a.md"), message=message, prompts=("Do it all.",))
        claims = build_claim_ledger(seen, (), (), replace(state, changed=changed))
        assert any(one.status is ClaimStatus.CONTRADICTED for one in claims) is expected, changed


EDITED = (
    ("bump to 1.8.0", "Bumped `version` in `setup.cfg` from 1.7.2 to 1.8.0.", True),
    ("Set the limit to 5.", "I've changed the limit in setup.cfg.", True),
    ("Set the limit to 5.", "Updated setup.cfg.", True),
    ("Set the limit to 5.", "In `setup.cfg` I put the limit under `[run]`.", True),
    ("Set the limit to 5.", "Step 3 of `setup.cfg` now says 5.", True),
    ("Set the limit to 5.", "`setup.cfg` now passes the check.", False),
    ("Set the limit to 5.", "I did not find it, nothing is set in `setup.cfg`.", False),
    ("Set the limit to 5.", "It should be changed in `setup.cfg`.", False),
    ("It has to be 5, change it.", "`setup.cfg` now says 5.", True),
    ("Set the limit to 5.", "I fixed the link to `setup.cfg`.", False),
    ("what did you change yesterday?", "I changed the limit in `setup.cfg`.", False),
)


@over_table(("prompt", "message", "contradicted"), EDITED)
def test_a_file_that_is_told_as_edited_and_is_as_it_was_contradicts(
    prompt: str, message: str, *, contradicted: bool
) -> None:
    quiet = ProjectState(tree=TREE, rubric=RUBRIC, since_prompt=True, unchanged=("setup.cfg",))
    seen = turn(ran("cat setup.cfg"), message=message, prompts=(prompt,))
    beside = replace(seen, calls=(replace(edited(), paths=("/other/setup.cfg",)),))
    away = replace(seen, calls=(ran("cd ../other && sed -i s/4/5/ setup.cfg"),))
    changed = replace(quiet, unchanged=())
    for told, state, expected in (
        (seen, quiet, contradicted),
        (seen, changed, False),
        (beside, quiet, False),
        (away, quiet, False),
    ):
        claims = build_claim_ledger(told, (), (), state)
        assert any(one.status is ClaimStatus.CONTRADICTED for one in claims) is expected


def test_a_copy_that_failed_is_not_there_though_nothing_was_edited() -> None:
    message = "The old rows are in `old/a.json` now."
    failed = ran("cp a.json old/a.json", 1)
    assert is_contradicted(message, "old/a.json", failed)
    assert not is_contradicted(message, "old/a.json", ran("cat old/a.json", 1))
    astray = ran("cat > a.json <<'END'\nEND")
    assert is_contradicted(message, "old/a.json", astray, changed=("a.json",))


def test_more_files_than_were_changed_contradict() -> None:
    for said, changed, contradicted in (
        ("The key is renamed in all four locale files.", ("l/a.json", "l/b.json", "l/c.json"), True),
        ("The key is renamed in all three locale files.", ("l/a.json", "l/b.json", "l/c.json"), False),
        ("I renamed it; all four locale files still parse.", ("l/a.json", "l/b.json", "l/c.json"), False),
        ("The key is renamed in all four locale files.", None, False),
    ):
        state = ProjectState(tree=TREE, rubric=RUBRIC, since_prompt=True, changed=changed)
        seen = turn(edited("l/a.json"), message=said, prompts=("rename the key",))
        claims = build_claim_ledger(seen, (), (), state)
        assert any(one.status is ClaimStatus.CONTRADICTED for one in claims) is contradicted, said
