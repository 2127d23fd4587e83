"""What changed in a project between two looks, and what that says of its checks, read but not yet weighed."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Base(Struct, frozen=True, kw_only=True):
    """A state of a project's files that later ones are compared with.

    `tree` is the fingerprint, `snapshot` the workspace's own name for what it kept ("" where nothing could be
    kept; `unseen` says why), `head` the commit checked out, "" where there is none.
    """

    tree: str = ""
    snapshot: str = ""
    head: str = ""
    unseen: str = ""


class FileChange(Struct, frozen=True, kw_only=True):
    """One changed file.

    `path` is relative to the project, with `/`; bytes that are no UTF-8 stand as surrogates. `before` and
    `after` are the whole text, None where the file was or is not there, or is no text, or is too big
    (`unread` says which). `old_path`: where it was before, if it moved.
    """

    path: str
    old_path: str = ""
    before: str | None = None
    after: str | None = None
    unread: str = ""


class Edit(Struct, frozen=True, kw_only=True):
    """How one file differs from the base, for a reader.

    `added` and `removed` count lines. `hunks` is the unified diff without its head, secrets masked, cut to
    2,000 characters at a line's end; "" where the file is no text or nothing of it is shown. `told`: why it
    is not shown, else "".
    """

    path: str
    old_path: str = ""
    added: int = 0
    removed: int = 0
    hunks: str = ""
    told: str = ""


class Changes(Struct, frozen=True, kw_only=True):
    """All that changed since a base, in the order of the paths.

    `tree` is the fingerprint of the very files that were compared, "" where there was no look. `unseen`: why
    it could not be seen whole.
    """

    files: tuple[FileChange, ...] = ()
    tree: str = ""
    unseen: str = ""


class Role(StrEnum):
    """What a file is to the project's checks."""

    TEST = "test"
    SNAPSHOT = "snapshot"
    SETTINGS = "settings"
    SOURCE = "source"
    OTHER = "other"


class Assertion(Struct, frozen=True, kw_only=True):
    """One expectation of a test.

    `text` is the source in one line, without comments. `subject` is what is looked at and `expected` what it
    is compared with, each as source, "" where the form is unknown. `form` names the comparison ("==", "toBe",
    "raises"). `void`: it cannot fail (`assert True`, `expect(1).toBe(1)`, one that its own handler swallows,
    one in a branch that never runs).
    """

    line: int
    text: str
    form: str = ""
    subject: str = ""
    expected: str = ""
    void: bool = False


class TestCase(Struct, frozen=True, kw_only=True):
    """One test.

    `name` is qualified by its class or describe blocks ("TestCart::test_total"). `skipped` and
    `expected_to_fail` are the source that makes it so, "" where nothing does. `cases` is the number of its
    parameter sets, None where it has none or they are not literals. `body` is a digest of its statements
    without its name, comments and layout, so that a moved or renamed test is known again; "" where it has
    none. `focused` is the source that leaves the other tests out. `parameters` are the names that differ from
    set to set, `sets` the source of each set in one line, at most 500. `uses` are the names it mentions, at
    most 300. `helper`: no test of its own, but a function that makes expectations for tests. `given` are
    names that are given one value, and its source, at most 40.
    """

    __test__ = False  # not one of pytest's

    name: str
    line: int
    skipped: str = ""
    expected_to_fail: str = ""
    assertions: tuple[Assertion, ...] = ()
    cases: int | None = None
    body: str = ""
    focused: str = ""
    parameters: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    helper: bool = False
    given: tuple[tuple[str, str], ...] = ()


class Setting(Struct, frozen=True, kw_only=True):
    """One value of a settings file.

    `key` is the path to it ("tool.pytest.ini_options.addopts", "jobs.test.steps[2].run"), `value` its source
    in one line.
    """

    key: str
    value: str
    line: int


class Mark(Struct, frozen=True, kw_only=True):
    """A line that changes what a check sees.

    `kind` is a short word: "silenced" (noqa, type: ignore, eslint-disable, nolint), "uncovered" (pragma: no
    cover), "focused" (it.only), "hook" (a conftest hook that drops or rewrites results), "exit" (os._exit at
    import), "knows-test" (code that behaves differently under test).
    """

    kind: str
    text: str
    line: int


class Parts(Struct, frozen=True):
    """What a test file is made of, without the names of tests, comments and layout.

    `units` are digests of whole tests, `rest` of all else, `imports` are "NAME=SOURCE" for each name bound.
    Each is sorted.
    """

    units: tuple[str, ...] = ()
    rest: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()


class FileFacts(Struct, frozen=True, kw_only=True):
    """What one version of a file says.

    `parts`: None where its language has no parser. `broken`: it does not parse, so what is missing proves
    nothing. `defines` are the names of the functions and types of a source file, at most 2,000.
    """

    tests: tuple[TestCase, ...] = ()
    settings: tuple[Setting, ...] = ()
    marks: tuple[Mark, ...] = ()
    parts: Parts | None = None
    broken: bool = False
    defines: tuple[str, ...] = ()


class Difference(Struct, frozen=True):
    """The first line in which two versions differ, but for blank lines and lines that are comments."""

    line: int
    before: str
    after: str


class FileReading(Struct, frozen=True, kw_only=True):
    """Both versions of one changed file; None where there was none, or is none any more.

    `weak`: read as text, for want of a parser of its language.
    """

    path: str
    role: Role
    old_path: str = ""
    before: FileFacts | None = None
    after: FileFacts | None = None
    weak: bool = False
    unread: str = ""
    difference: Difference | None = None


class Reading(Struct, frozen=True, kw_only=True):
    """Everything that was read of the changes. `unseen`: why it is not all of them."""

    files: tuple[FileReading, ...] = ()
    unseen: str = ""


class Repository(Struct, frozen=True, kw_only=True):
    """What git knows without asking anybody.

    `commits` counts those since the base, None where the base had none. `ahead` counts commits that the
    upstream branch, as last seen, does not have; None where there is no upstream. `dirty`: the number of
    tracked or untracked files that are not committed.
    """

    head: str = ""
    branch: str = ""
    upstream: str = ""
    remote: bool = False
    commits: int | None = None
    ahead: int | None = None
    dirty: int = 0
