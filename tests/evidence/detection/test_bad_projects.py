"""Hostile and broken projects: detection ends, raises nothing, and says only what can be said."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.evidence.detection.detect import detect_gates
from sidecar.kernel.gate import Gate, Kind
from sidecar.platform import formats
from support.projects import lay, offered

ID = re.compile(r"[a-z0-9][a-z0-9:_./-]{0,63}")
"""What a configuration file takes as the name of a gate."""
TEST = '{"scripts": {"test": "jest"}}'
MANIFESTS = {
    "go.mod": ["module a", "\0"],
    "go.work": ["use (\n./a\n./b\n)", "use ("],
    "package.json": [TEST, '{"workspaces": ["*"], "scripts": {"test": "x"}}', "[]", '{"scripts": 1}', "{"],
    "pnpm-workspace.yaml": ["packages:\n - '*'", "-"],
    "tsconfig.json": ["{}", "/*", '{"files": [], "references": {}}'],
    "pyproject.toml": [
        "",
        "[tool]\npytest = 1",
        "[tool.pytest]\nini_options = []",
        "[tool.coverage]\nreport = 1",
        "=",
    ],
    "setup.cfg": ["[tool:pytest]\ntestpaths = a", "[", "x", "[mypy]\nfiles"],
    "tox.ini": ["[testenv]\ncommands = x", "[pytest]"],
    "noxfile.py": ["def tests("],
    "requirements.txt": ["pytest\nmypy\nruff", "-r other", "\x00"],
    "tests/test_a.py": ["import unittest", "def test_a(): pass"],
    "Cargo.toml": ["[workspace]", "[workspace]\nexclude = [1, '[']", "workspace = 1"],
    "Gemfile": ["gem 'rubocop'"],
    "Rakefile": ["task :test"],
    "mix.exs": ["apps_path: {:credo"],
    "pom.xml": ["<modules>"],
    "gradlew": ["x"],
    "build.gradle": ["include 'a'"],
    "A.sln": [""],
    "A.csproj": ["TUnit"],
    "composer.json": ['{"scripts": {"test": [1, "x"]}}', '{"require": []}'],
    "phpunit.xml": [""],
    "Makefile": ["test:\n\tcd a && x", ":\n\t:\n=", "test"],
    "justfile": ["test:\n x"],
    "Taskfile.yml": ["tasks:\n  test:\n    x"],
}
"""Files that mean something, each with contents that do and that do not."""

projects = st.dictionaries(
    st.tuples(st.sampled_from(("", "a/", "b/", "a/c/", "npm/")), st.sampled_from(sorted(MANIFESTS))),
    st.integers(0, 5),
    max_size=12,
)


def written(folder: str, drawn: dict[tuple[str, str], int]) -> Path:
    texts = {
        place + name: MANIFESTS[name][which % len(MANIFESTS[name])] for (place, name), which in drawn.items()
    }
    return lay(Path(folder), texts)


def sound(gates: tuple[Gate, ...], project: Path) -> bool:
    """Whether each gate can be named, run and shown, and none stands twice."""
    ids = [gate.id for gate in gates]
    return len(set(ids)) == len(ids) and all(
        ID.fullmatch(gate.id)
        and gate.why.isprintable()
        and gate.command.isprintable()
        and (project / gate.folder).is_dir()
        and gate.id.startswith(gate.kind)
        and (gate.kind is Kind.TESTS) == gate.counts
        for gate in gates
    )


@given(drawn=projects)
def test_any_mixture_of_manifests_gives_sound_gates(drawn: dict[tuple[str, str], int]) -> None:
    with TemporaryDirectory() as folder:
        project = written(folder, drawn)
        gates = detect_gates(project, {})
        assert sound(gates, project)
        assert gates == detect_gates(project, {})


@given(
    name=st.sampled_from(
        sorted({*MANIFESTS, "pytest.ini", ".coveragerc", "setup.py", "Pipfile", ".pnp.cjs"})
    ),
    content=st.binary(max_size=60)
    | st.text(alphabet="[]{}\"'=:,\\/*\n\t#-.test(){}", max_size=80).map(str.encode),
)
def test_any_bytes_in_a_manifest_give_sound_gates(name: str, content: bytes) -> None:
    with TemporaryDirectory() as folder:
        project = lay(Path(folder), {name: content})
        assert sound(detect_gates(project, {}), project)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(("test", "jest", "x && y", "a/*")),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(("scripts", "test", "lint", "workspaces", "packages", "devDependencies", "jest")),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(value=json_values)
def test_a_package_with_values_of_any_type_gives_sound_gates(value: object) -> None:
    with TemporaryDirectory() as folder:
        files = {name: json.dumps(value) for name in ("package.json", "composer.json", "tsconfig.json")}
        project = lay(Path(folder), {**files, "a/package.json": TEST})
        assert sound(detect_gates(project, {}), project)


BIG = 1 << 20
"""Bytes. Quadratic work on files of that size takes an hour and more, and tests/conftest.py ends the test."""


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("package.json", '{"scripts": {"test": "' + "x" * 10 * BIG + '"}}'),
        ("package.json", "[" * (BIG - 1)),
        ("package.json", '{"scripts": {"test": "jest ' + "-w " * 300_000 + '"}}'),
        ("package.json", '{"scripts": {"lint": "' + "prettier " * 100_000 + '"}}'),
        ("pyproject.toml", "a = " + "[" * (BIG - 8)),
        ("pyproject.toml", "a=[" + "1," * (BIG // 8) + "]"),
        ("setup.cfg", "[options]\na" + " " * (BIG - 20) + "b"),
        ("setup.cfg", "[a]\n" + "b\n c\n" * (BIG // 6)),
        ("requirements.txt", "a" * BIG),
        ("requirements.txt", "a\n" * (BIG // 2)),
        ("setup.py", "'" * BIG),
        ("setup.py", "'a" * (BIG // 2)),
        ("test_a.py", "TestCase" + "\n" * (BIG - 9)),
        ("go.work", "use (\n" * (BIG // 6)),
        ("go.work", "use " + " " * (BIG - 5)),
        ("Rakefile", "\n" * BIG),
        ("Rakefile", "task" + " " * (BIG - 4)),
        ("Gemfile", "gem" + " " * (BIG - 4)),
        ("mix.exs", "{" * BIG),
        ("settings.gradle", "\n" * BIG),
        ("Makefile", "test " * 1000 + ":\n" + "\tx\n" * (BIG // 16)),
        ("Makefile", "export" + " " * (BIG - 7)),
        ("Makefile", "test: " + "".join(f"t{n} " for n in range(100_000)) + "\n"),
        ("justfile", "test " + "a " * (BIG // 2 - 10)),
        ("Taskfile.yml", "tasks:\n" + " " * (BIG - 10)),
        ("tox.ini", "[testenv]\ncommands =\n" + (" x" + " y" * 15 + "\n") * (BIG // 33)),
        ("pytest.ini", "[pytest]\ntestpaths =" + " */*/*" * (BIG // 8) + "\n"),
    ],
    ids=lambda value: value[:16] if isinstance(value, str) else None,
)
def test_a_huge_or_twisted_file_takes_no_more_time_than_its_size(
    name: str, content: str, tmp_path: Path
) -> None:
    lay(tmp_path, {name: content, "a/package.json": TEST, "a/pyproject.toml": "", "a/test_a.py": ""})
    gates = detect_gates(tmp_path, {})
    assert sound(gates, tmp_path)
    assert "tests:a" in {gate.id for gate in gates} | {"tests:a" if name == "pytest.ini" else ""}


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (formats.parse_jsonc_table, "/* " * (BIG // 3)),
        (formats.parse_jsonc_table, '"' + '\\"' * (BIG // 2) + "\\"),
        (formats.parse_jsonc_table, ("," + " " * 90) * (BIG // 91)),
        (formats.parse_json_table, '{"a":' * (BIG // 5)),
        (formats.parse_toml_table, "a" + ".a" * (BIG // 2) + " = 1"),
        (formats.parse_toml_table, "[a" + " . 'a b'" * (BIG // 8) + "]"),
        (formats.parse_toml_table, 'a = {"\\""' + '."\\""' * (BIG // 5) + " = 1}"),
        (formats.parse_toml_table, "a = " + "{a = " * (BIG // 5)),
        (formats.parse_toml_table, "a" * BIG),
        (formats.parse_toml_table, '"\\"' * (BIG // 3)),
        (formats.parse_toml_table, "a" + " " * BIG),
        (formats.parse_toml_table, ("a." * 31 + " ") * (BIG // 64)),
        (formats.parse_ini_sections, "[a]\na" + " " * BIG + "b"),
    ],
)
def test_a_twisted_text_says_nothing_in_no_more_time_than_its_size(
    read: Callable[[str], Mapping[str, object]], text: str
) -> None:
    assert read(text) in ({}, {"a": {}})


def test_what_toml_and_json_with_comments_say_is_read() -> None:
    assert formats.parse_toml_table('a.b."c.d" = "x.y" # z\n[e]\nf = [1.5, 2]') == {
        "a": {"b": {"c.d": "x.y"}},
        "e": {"f": [1.5, 2]},
    }
    text = '{"a": "// no /* comment, }", // one\n "b": [1, /* two */], "c": "\\"", }'
    assert formats.parse_jsonc_table(text) == {"a": "// no /* comment, }", "b": [1], "c": '"'}


def test_links_in_a_circle_and_to_nowhere_are_passed_by(tmp_path: Path) -> None:
    lay(tmp_path, {"a/package.json": TEST})
    (tmp_path / "a" / "up").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "go.mod").symlink_to("go.mod")
    (tmp_path / "Cargo.toml").symlink_to("/nowhere")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "package.json").symlink_to("package.json")
    assert [gate.id for gate in detect_gates(tmp_path, {})] == ["tests:a"]


def test_a_pipe_and_a_device_are_no_manifests(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "package.json")
    (tmp_path / "pyproject.toml").symlink_to("/dev/zero")
    (tmp_path / "Makefile").symlink_to("/dev/zero")
    assert detect_gates(tmp_path, {}) == ()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_passed_by(tmp_path: Path) -> None:
    lay(tmp_path, {"a/package.json": TEST, "b/package.json": TEST})
    (tmp_path / "a").chmod(0)
    (tmp_path / "b" / "package.json").chmod(0)
    try:
        assert detect_gates(tmp_path, {}) == ()
    finally:
        (tmp_path / "a").chmod(0o700)


def test_names_are_said_in_ids_and_kept_in_folders(tmp_path: Path) -> None:
    names = ["A B", "a b", "n\new", "ü", "x" * 200, "-rf", "npm"]
    lay(tmp_path, {f"{name}/package.json": TEST for name in names} | {"package.json": TEST, "go.mod": ""})
    gates = [gate for gate in detect_gates(tmp_path, {}) if gate.kind is Kind.TESTS]
    assert {gate.folder for gate in gates} == {"", *names}
    assert sound(tuple(gates), tmp_path)
    assert {"tests", "tests:npm", "tests:npm:2", "tests:a-b", "tests:a-b:2", "tests:n-ew"} <= {
        g.id for g in gates
    }


def test_a_folder_whose_name_cannot_be_said_is_passed_by(tmp_path: Path) -> None:
    folder = os.path.join(os.fsencode(tmp_path), b"\xff")  # noqa: PTH118 - bytes
    os.mkdir(folder)  # noqa: PTH102 - bytes
    Path(os.fsdecode(folder), "package.json").write_text(TEST)
    assert detect_gates(tmp_path, {}) == ()


def test_names_with_a_meaning_to_the_shell_are_quoted(tmp_path: Path) -> None:
    files = {"a;touch x\n.sln": "", "-b.sln": "", "go.work": "use ./$(x)", "$(x)/go.mod": ""}
    found = offered(tmp_path, files)
    assert found["tests:dotnet"] == "dotnet test ./-b.sln"
    assert found["tests"] == "go test './$(x)/...'"


@given(text=st.text(alphabet="[]=: ab\n\t#;", max_size=60))
def test_an_ini_text_gives_names_in_small_letters(text: str) -> None:
    names = {name for values in formats.parse_ini_sections(text).values() for name in values}
    assert names == {name.strip().lower() for name in names} - {""}


def test_an_ini_value_goes_on_in_lines_that_are_set_in() -> None:
    text = "x = lost\n[a]\nB: 1\nc = 2=3\n  4\n\n# no\n ; no\n  5\n[b]\nd\n[a]\ne =\n\tf\n"
    assert formats.parse_ini_sections(text) == {"a": {"b": "1", "c": "2=3\n4\n5", "e": "f"}, "b": {}}
