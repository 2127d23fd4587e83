"""Ruby: rspec, the test task of a Rakefile, Rails, minitest; rubocop where it is set up or listed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from sidecar.adapters.detection.found import Found, whole
from sidecar.model.gate import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sidecar.adapters.detection.folder import Folder

RAKE_TESTS: Final = re.compile(
    r"\b(?:Rake|Minitest)::TestTask\b|^[ \t]*task[ \t(]{1,9}[:\"']?test\b", re.MULTILINE
)
EVERY_TEST: Final = """ruby -Itest -e 'Dir.glob("./test/**/*_test.rb").sort.each { |file| require file }'"""
RAKEFILES: Final = ("Rakefile", "rakefile", "Rakefile.rb")


def find(root: Folder) -> Iterator[Found]:
    """Tests and rubocop."""
    bundled = "bundle exec " if root.has("Gemfile") else ""
    yield from _tests(root, bundled)
    sign = root.has(".rubocop.yml")
    if sign or _lists(root, "rubocop"):
        why = f"the project has a {sign}" if sign else "Gemfile lists rubocop"
        yield Found(kind=Kind.LINT, tool="rubocop", command=f"{bundled}rubocop", why=why)


def spans(root: Folder, member: Folder, found: Found) -> bool:  # noqa: ARG001 - it sees all
    """Whether the command of the root sees the member: only rubocop goes down into every folder."""
    return found.kind is Kind.LINT and bool(root.has(".rubocop.yml"))


def _tests(root: Folder, bundled: str) -> Iterator[Found]:
    spec = next(root.search("spec", "*_spec.rb"), "")
    test = next(root.search("test", "*_test.rb", "test_*.rb"), "")
    rakefile = root.text(*RAKEFILES)
    command, why, behind = f"{bundled}rspec", "", ""
    if root.has(".rspec"):
        why = "the project has a .rspec"
    elif spec:
        why = f"the project has specs such as {spec}"
    elif _lists(root, "rails") and test:
        command, why = f"{bundled}rails test", "Gemfile lists rails, and there are tests such as " + test
    elif RAKE_TESTS.search(rakefile):
        command, why, behind = f"{bundled}rake test", "the Rakefile has a test task", whole(rakefile)
    elif test:
        command, why = f"{bundled}{EVERY_TEST}", f"the project has tests such as {test}"
    if why:
        yield Found(kind=Kind.TESTS, tool="ruby", command=command, why=why, behind=behind)
    elif bundled and not root.name:
        why = "the project has a Gemfile"
        yield Found(kind=Kind.TESTS, tool="rspec", command=command, why=why, weak=True)


def _lists(root: Folder, gem: str) -> bool:
    return bool(re.search(rf"^[ \t]*gem[ \t(]{{1,9}}[\"']{gem}[\"']", root.text("Gemfile"), re.MULTILINE))
