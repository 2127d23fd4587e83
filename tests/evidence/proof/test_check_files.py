"""Which files bear on a check: by name, by being named in one, or because they hold tests themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidecar.evidence.proof.check_files import (
    bears_on_checks,
    changes_dependencies,
    choose_check_files,
    is_ci_setting,
    is_installed,
    may_bear_on_checks,
    with_old_inline_tests,
)
from sidecar.evidence.proof.file_names import file_reading_order
from sidecar.kernel.evidence import FileChange

CHECKS = """
tests/test_a.py test_a.py src/a_test.go src/__tests__/a.js lib/a.test.mjs a.spec.ts spec/a_spec.rb
t/basic.t run.bats src/__snapshots__/a.snap tests/data/in.json conftest.py pkg/conftest.py pyproject.toml
pytest.ini setup.cfg tox.ini package.json tsconfig.build.json jest.config.cjs vitest.config.ts
.mocharc.json .eslintrc.js eslint.config.mjs go.mod Makefile make/rules.mk Cargo.toml pom.xml
phpunit.xml.dist mix.exs Gemfile .coveragerc .github/workflows/ci.yml run-tests.sh scripts/test.js
sitecustomize.py extra.pth pytest.py unittest/__init__.py .env src/test/java/ATest.java App.csproj
build.rs ty.toml .oxlintrc.json pylintrc psalm.xml.dist .cargo/config.toml sub/go.work .rspec
""".split()  # noqa: SIM905 - a table reads better
CODE = """
shop.py src/a.js lib/latest.ts contest.py src/protest.go attest.rs checkout.py detests.py
specification.py index.html README.md rotate.sh settings.py src/testing.md environment.ts package.py
test_helpers.go src/config.toml cargo/config
""".split()  # noqa: SIM905 - a table reads better


@pytest.mark.parametrize("path", CHECKS)
def test_a_file_of_a_check_is_known_by_its_name(path: str) -> None:
    assert bears_on_checks(path)


@pytest.mark.parametrize("path", CODE)
def test_code_is_not_taken_for_a_check(path: str) -> None:
    assert not bears_on_checks(path)


def test_a_list_that_a_check_file_names_bears_on_it_and_other_data_does_not(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(
        "SKIPPED = open('quarantine.txt').read().split()\nfrom shop import total\nPROGRAM = 'till'\n"
    )
    (tmp_path / "till").write_text("#!/usr/bin/env perl\n")
    changed = ["quarantine.txt", "prices.json", "shop.py", "till", "tests/test_a.py"]
    assert choose_check_files(changed, tmp_path) == {"quarantine.txt", "tests/test_a.py"}


def test_whether_anything_may_bear_on_a_check_is_told_without_reading_other_files() -> None:
    def change(path: str, before: str = "a", after: str = "b") -> FileChange:
        return FileChange(path=path, before=before, after=after)

    assert not may_bear_on_checks([change("shop.py"), change("src/lib.rs", "fn a() {}\n", "fn b() {}\n")])
    assert may_bear_on_checks([change("quarantine.txt")])
    assert may_bear_on_checks([FileChange(path="attic/a.py", old_path="tests/test_a.py")])
    assert may_bear_on_checks([change("src/lib.rs", "fn a() {}\n#[cfg(test)]\nmod t {1}\n", "fn a() {}\n")])


def test_the_old_tests_of_a_rust_file_stand_below_its_new_code() -> None:
    old = "fn a() { 1 }\n#[cfg(test)]\nmod tests { old }\n"
    new = "fn a() { 2 }\nfn b() {}\n#[cfg(test)]\nmod tests { new }\n"
    assert with_old_inline_tests("src/lib.rs", old, new) == (
        "fn a() { 2 }\nfn b() {}\n#[cfg(test)]\nmod tests { old }\n"
    )
    assert with_old_inline_tests("src/lib.rs", old, old.replace("1", "2")) is None
    assert with_old_inline_tests("a.py", old, new) is None


@pytest.mark.parametrize(
    ("path", "before", "after", "changed"),
    [
        ("package.json", '  "ava": "^3.1.0"\n', '  "ava": "^4.0.0"\n', True),
        ("web/requirements-dev.txt", "pytest\n", "pytest\nflask==2.1\n", True),
        ("package.json", '  "version": "1.2.0",\n', '  "version": "1.3.0",\n', False),
        ("pyproject.toml", 'version = "1.2"\n', 'version = "1.3"\n', False),
        ("package.json", '  "test": "ava"\n', '  "test": "ava --serial"\n', False),
        ("src/prices.py", "x = 1.2\n", "x = 1.3\n", False),
    ],
)
def test_another_version_of_a_dependency_is_known(
    path: str, before: str, after: str, *, changed: bool
) -> None:
    seen = FileChange(path=path, before=before, after=after)
    assert changes_dependencies([seen]) is changed


def test_what_an_installer_wrote_and_what_a_ci_service_reads_are_known() -> None:
    assert is_installed("web/node_modules/.bin/jest")
    assert is_installed(".venv/bin/python")
    assert not is_installed("src/node.py")
    assert is_ci_setting(".github/workflows/ci.yml")
    assert not is_ci_setting("docs/ci.md")


def test_code_is_read_first_also_in_a_folder_of_documents() -> None:
    names = ["notes.md", "setup.cfg", "docs/conf.txt", "tests/test_a.py", "src/docs/render.py", "data.bin"]
    assert sorted(names, key=file_reading_order) == [
        *("src/docs/render.py", "tests/test_a.py", "setup.cfg", "notes.md", "docs/conf.txt", "data.bin"),
    ]
