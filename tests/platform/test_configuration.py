"""The user's config.toml: every error at once, with field and line, and the default for what is wrong."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from sidecar.kernel.settings import (
    ConfiguredGate,
    GateSettings,
    JudgeSettings,
    ModelPrice,
    NamedModel,
    RuleSettings,
    Settings,
    WorkerSettings,
)
from sidecar.platform.configuration import ConfigurationFile, user_config_folder
from sidecar.platform.paths import organisation_file


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "supervisor").mkdir()
    return tmp_path / "supervisor" / "config.toml"


def load(path: Path) -> tuple[Settings, tuple[str, ...]]:
    """The settings, and the errors without the path that each begins with."""
    settings, errors = ConfigurationFile({"XDG_CONFIG_HOME": str(path.parent.parent)}).load()
    assert all(error.startswith(f"{path}:") for error in errors)
    return settings, tuple(error.removeprefix(f"{path}:").strip() for error in errors)


def test_no_file_means_the_defaults(path: Path) -> None:
    assert load(path) == (Settings(), ())
    assert ConfigurationFile({}).load() == (Settings(), ())
    path.parent.rmdir()
    path.parent.write_bytes(b"a file in the place of the folder")
    assert load(path) == (Settings(), ())


@pytest.mark.proves("the loop")
def test_every_error_is_reported_with_its_field_and_what_is_right_is_in_force(path: Path) -> None:
    path.write_text(
        """
        mode = "shadow"
        max_atempts = 3
        max_attempts = 101
        goal_max_tokens = "many"
        resume_paused = true
        idle_minutes = true
        gates = 5

        [judge]
        backend = "gpt"
        modell = "opus"
        seconds = 30
        """
    )
    settings, errors = load(path)
    assert settings == Settings(mode="shadow", resume_paused=True, judge=JudgeSettings(seconds=30))
    assert errors == (
        "3: max_atempts: there is no such setting; did you mean max_attempts?",
        "4: max_attempts: Expected `int` <= 100 (got 101); the default 16 is in force",
        "5: goal_max_tokens: Expected `int`, got `str` (got 'many'); the default 400000 is in force",
        "7: idle_minutes: Expected `int`, got `bool` (got True); the default 60 is in force",
        "8: gates: Expected `object`, got `int` (got 5); its defaults are in force",
        (
            "11: judge.backend: Invalid enum value 'gpt'; "
            "allowed: anthropic, auto, claude-cli, openai, opencode, rules; the default 'auto' is in force"
        ),
        "12: judge.modell: there is no such setting; did you mean judge.model?",
    )


def test_gates_are_named_and_changed(path: Path) -> None:
    path.write_text(
        """
        [gates]
        seconds = 300
        without_goal = true
        ci = true
        [gate.lint]
        command = "ruff check"
        required = true
        [gate."lint:packages/web"]
        folder = "./packages/web/"
        [gate.coverage]
        least = 80
        [gate.types]
        enabled = false
        """
    )
    settings, errors = load(path)
    assert errors == ()
    assert settings.gates == GateSettings(seconds=300, without_goal=True, ci=True)
    assert settings.gate == {
        "lint": ConfiguredGate(command="ruff check", required=True),
        "lint:packages/web": ConfiguredGate(folder="packages/web"),
        "coverage": ConfiguredGate(least=80.0),
        "types": ConfiguredGate(enabled=False),
    }


def test_every_error_in_a_gate_is_reported_and_the_rest_of_it_holds(path: Path) -> None:
    path.write_text(
        """
        [gate.lint]
        command = "ruff check"
        seconds = 0
        comand = "x"
        kind = "style"
        folder = "/etc"
        [gate.up]
        command = "true"
        folder = "a/../../b"
        [gate.nan]
        command = "  "
        least = nan
        [gate.NAME]
        [gate."check:1"]
        [gate.pr]
        command = "true"
        [gate]
        flat = 1
        """
    )
    settings, errors = load(path)
    assert settings.gate == {
        "lint": ConfiguredGate(command="ruff check"),
        "up": ConfiguredGate(command="true"),
        "nan": ConfiguredGate(),
    }
    assert errors == (
        "4: gate.lint.seconds: Expected `int` >= 1 (got 0); it is ignored",
        "5: gate.lint.comand: there is no such setting; did you mean gate.lint.command?",
        (
            "6: gate.lint.kind: Invalid enum value 'style'; "
            "allowed: build, check, coverage, lint, security, tests, types; it is ignored"
        ),
        "7: gate.lint.folder: must be a relative path inside the project (got '/etc'); it is ignored",
        "10: gate.up.folder: must be a relative path inside the project (got 'a/../../b'); it is ignored",
        "12: gate.nan.command: it is empty or holds a NUL; it is ignored",
        "13: gate.nan.least: Expected `float` >= 0.0 (got nan); it is ignored",
        "14: gate.NAME: an ID has 1 to 64 of a-z 0-9 : _ . / -, a letter or digit first; it is ignored",
        '15: gate."check:1": IDs that begin with check: are those of --check',
        "16: gate.pr: this ID is taken; gates.pr = true is what asks for it",
        "19: gate.flat: Expected a table `[gate.flat]` (got 1); it is ignored",
    )


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[gates]\nseconds = 0", 2),
        ("\n\ngates.seconds = 0", 3),
        ("\ngates = { detect = true, seconds = 0 }", 2),
        ("[ gates ]\n'seconds' = 0", 2),
        ('mode = """on\n"""\ngates.seconds = 0', 3),
        ("[gates]\r\nci = true\r\nseconds = 0\r\n", 3),
    ],
)
def test_a_line_is_found_however_the_key_is_written(path: Path, text: str, line: int) -> None:
    path.write_bytes(text.encode())
    assert f"{line}: gates.seconds: Expected `int` >= 1 (got 0); the default 600 is in force" in load(path)[1]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"max_attempts = ", "no TOML: Invalid value (at end of document)"),
        (b"\n\nmax_attempts = }", "no TOML: Invalid value (at line 3, column 16)"),
        (b"max_attempts = 1\nmax_attempts = 2", "no TOML: Cannot overwrite a value"),
        (b'mode = "\xff"', "not UTF-8 at byte 8"),
        (b"a = " + b"[" * 50_000, "nested too deep"),
        (b"mode" + b".a" * 30_000 + b" = 1", "nested too deep"),
        (b"[gate" + b".a" * 30_000 + b"]", "nested too deep"),
        (b"a = 1" + b"0" * 20_000, "no TOML: Exceeds the limit"),
        (b"#" * 10_000_000, "10000000 bytes, more than 65536"),
    ],
)
def test_a_file_that_is_no_toml_is_one_error_and_the_defaults_hold(
    path: Path, content: bytes, why: str
) -> None:
    path.write_bytes(content)
    settings, (error,) = load(path)
    assert settings == Settings()
    assert error.startswith(why)
    assert error.endswith("; the defaults are in force")


@pytest.mark.parametrize(("make", "why"), [(os.mkdir, "a folder"), (os.mkfifo, "no plain file")])
def test_what_is_no_file_is_one_error(path: Path, make: object, why: str) -> None:
    assert callable(make)
    make(path)
    assert load(path) == (Settings(), (f"{why}; the defaults are in force",))


@pytest.mark.parametrize("value", ["9" * 4000, "-1", "0", "1e3", "inf", "[1]", "{a = 1}", "2020-01-01", "''"])
def test_whatever_stands_in_the_place_of_a_number_is_an_error_of_one_short_line(
    path: Path, value: str
) -> None:
    path.write_text(f"max_attempts = {value}\n")
    settings, (error,) = load(path)
    assert settings == Settings()
    assert error.startswith("1: max_attempts: Expected `int`") or "out of range" in error
    assert len(error) < 200
    assert "\n" not in error


def test_an_unknown_name_is_shown_short_and_on_one_line(path: Path) -> None:
    path.write_text(f'"{"x" * 1000}" = 1\n"\\n" = 2\n[gate."{"y" * 1000}"]\n[gate."\\u202e"]\n')
    errors = load(path)[1]
    assert [len(error) < 160 and error.isprintable() for error in errors] == [True, True, True, True]


@pytest.mark.parametrize(
    "text",
    [
        "max_attempts" + ".a" * 200 + " = 1",
        "gate" + ".a" * 200 + " = 1",
        "\n".join(f"k{number} = 1" for number in range(6000)),
        "mode = " + "[" * 300 + "]" * 300,
        "mode = " + "{a=" * 100 + "1" + "}" * 100,
    ],
    ids=["a very deep key", "a very deep gate", "many names", "deep arrays", "deep tables"],
)
def test_a_hostile_file_ends_in_few_and_short_errors(path: Path, text: str) -> None:
    path.write_text(text)
    settings, errors = load(path)
    assert settings.mode == "on"
    assert 1 <= len(errors) <= 25
    assert max(map(len, errors)) < 200


def test_phases_that_do_not_exist_and_modes_that_do_not_fit_are_told_at_once(path: Path) -> None:
    path.write_text(
        "[governance.phase.nope]\nenabled = false\n"
        '[governance.phase.plan]\nmodes = ["light"]\n[governance.phase.test]\nmodes = []\n'
    )
    settings, errors = load(path)
    assert settings.governance.phase["plan"].default_mode == "light"
    assert [error.partition(": Expected")[0] for error in errors] == [
        "1: governance.phase.nope: there is no such setting",
        '3: governance.phase.plan.default_mode: "full" is none of its modes; "light" is in force',
        "6: governance.phase.test.modes",
    ]


def test_the_judging_of_a_stop_is_longer_than_what_it_holds(path: Path) -> None:
    path.write_text("stop_seconds = 300\n")
    settings, errors = load(path)
    assert settings.stop_seconds == 840
    assert errors == (
        "1: stop_seconds: must be greater than gates.seconds, 600; the default 840 is in force",
    )
    path.write_text("stop_seconds = 100\n[gates]\nseconds = 60\n")
    assert "gates.advisory_seconds, 120" in load(path)[1][0]
    path.write_text("stop_seconds = 100\n[gates]\nseconds = 60\nadvisory_seconds = 60\n")
    assert "judge.seconds, 120" in load(path)[1][0]
    path.write_text("stop_seconds = 130\n[gates]\nseconds = 60\n[gate.lint]\nseconds = 130\n")
    assert "gate.lint.seconds, 130" in load(path)[1][0]
    path.write_text("stop_seconds = 130\n[gates]\nseconds = 60\n")
    assert load(path) == (Settings(stop_seconds=130, gates=GateSettings(seconds=60)), ())


def test_a_byte_order_mark_and_windows_line_ends_are_accepted(path: Path) -> None:
    path.write_bytes(b"\xef\xbb\xbfmax_attempts = 3\r\nmode = 'shadow'\r\n")
    assert load(path) == (Settings(max_attempts=3, mode="shadow"), ())


def test_a_link_to_where_the_user_keeps_it_is_followed(path: Path, tmp_path: Path) -> None:
    (tmp_path / "dotfiles.toml").write_text("max_attempts = 3\n")
    path.symlink_to(tmp_path / "dotfiles.toml")
    assert load(path) == (Settings(max_attempts=3), ())


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({"XDG_CONFIG_HOME": "/x", "HOME": "/home/me"}, "/x/supervisor"),
        ({"HOME": "/home/me"}, "/home/me/.config/supervisor"),
        ({"XDG_CONFIG_HOME": "", "HOME": "/home/me"}, "/home/me/.config/supervisor"),
        ({"XDG_CONFIG_HOME": "relative", "HOME": "/home/me"}, "/home/me/.config/supervisor"),
        ({"HOME": "relative"}, "None"),
        ({}, "None"),
    ],
)
def test_the_users_folder_follows_the_environment(environment: dict[str, str], folder: str) -> None:
    assert str(user_config_folder(environment)) == folder


def test_rules_prices_and_services_are_read_and_each_error_of_theirs_is_told(path: Path) -> None:
    path.write_text(
        """
        [rules]
        permission-seeking = "ask"
        narration = "loud"
        [judge.openai]
        endpoint = "http://127.0.0.1:11434/v1"
        [price."model-a"]
        input = 300
        output = 1500.5
        [price."model-b"]
        input = 1
        """
    )
    settings, errors = load(path)
    assert settings.rules == RuleSettings(permission_seeking="ask")
    assert settings.judge.openai == replace(JudgeSettings().openai, endpoint="http://127.0.0.1:11434/v1"), (
        "what is not said keeps its default"
    )
    assert settings.price == {"model-a": ModelPrice(input=300, output=1500.5)}
    assert errors == (
        "4: rules.narration: Invalid enum value 'loud'; allowed: ask, off, on; the default 'on' is in force",
        "10: price.model-b: needs output; it is ignored",
    )


def test_workers_and_named_models_are_read_and_each_error_is_told(path: Path) -> None:
    path.write_text(
        """
        [workers]
        backend = "command"
        parallel = 17
        seconds = 300
        gateway_url = "http://localhost:4000"
        [workers.models]
        tdd_red = "small"
        tdd_green = 3
        [models.cheap]
        model = "p/mini"
        input_cents = 10
        output_cents = 40
        tier = "small"
        [models.half]
        model = "p/half"
        input_cents = 10
        [models.twice]
        model = "p/max"
        input_cents = 1
        output_cents = 2
        [models.none]
        tier = "tiny"
        [price."p/max"]
        input = 3
        output = 4
        """
    )
    settings, errors = load(path)
    assert settings.workers == WorkerSettings(
        seconds=300, gateway_url="http://localhost:4000", models={"tdd_red": "small"}
    )
    assert settings.models == {
        "cheap": NamedModel(model="p/mini", input_cents=10, output_cents=40, tier="small"),
        "half": NamedModel(model="p/half"),
        "twice": NamedModel(model="p/max"),
    }
    assert errors == (
        '3: workers.backend: needs workers.command; "auto" is in force',
        "4: workers.parallel: Expected `int` <= 16 (got 17); the default 2 is in force",
        "9: workers.models.tdd_green: Expected `str`, got `int` (got 3); it is ignored",
        "15: models.half: needs both input_cents and output_cents, or neither; it has no price",
        '18: models.twice: its price is that of [price."p/max"] too: name it once; that one is in force',
        "22: models.none: needs model; it is ignored",
        "23: models.none.tier: Invalid enum value 'tiny'; allowed: large, medium, small; it is ignored",
    )


@pytest.mark.parametrize(
    ("text", "settings", "errors"),
    [
        (
            "maxAttempts: 7\ngoalMaxTokens: 9\ngoalMaxDurationMs: 1500\nsupervisorResumePaused: true\nx: 1",
            Settings(max_attempts=7, goal_max_tokens=9, goal_max_seconds=2, resume_paused=True),
            (),
        ),
        ("", Settings(), ()),
        (
            "maxAttempts: 101\ngoalMaxTokens: 5\n",
            Settings(goal_max_tokens=5),
            ("maxAttempts: Expected `int` <= 100 (got 101); it is ignored",),
        ),
        ("- a list\n", Settings(), ("Expected `object`, got `array`; it says nothing",)),
    ],
)
def test_the_file_of_the_ancestor_is_read(
    path: Path, text: str, settings: Settings, errors: tuple[str, ...]
) -> None:
    ancestor = path.parent.with_name("opencode") / "reflection.yaml"
    ancestor.parent.mkdir()
    ancestor.write_text(text)
    told = tuple(f"{ancestor}: {error}" for error in errors)
    assert ConfigurationFile({"XDG_CONFIG_HOME": str(path.parent.parent)}).load() == (settings, told)


def test_ours_counts_before_that_of_the_ancestor_and_no_fault_of_it_spoils_ours(path: Path) -> None:
    ancestor = path.parent.with_name("opencode") / "reflection.yaml"
    ancestor.parent.mkdir()
    ancestor.write_text("maxAttempts: 7\ngoalMaxTokens: 9\n")
    path.write_text("max_attempts = 3\n")
    environment = {"XDG_CONFIG_HOME": str(path.parent.parent)}
    configuration = ConfigurationFile(environment)
    assert configuration.load() == (Settings(max_attempts=3, goal_max_tokens=9), ())
    assert [dict(source.values) for source in configuration.sources()] == [
        {},
        {"max_attempts": 3},
        {"max_attempts": 7, "goal_max_tokens": 9},
    ]
    ancestor.write_text("{")
    settings, errors = configuration.load()
    assert (settings, len(errors), "\n" in errors[0]) == (Settings(max_attempts=3), 1, False)
    assert errors[0].startswith(f"{ancestor}: ")


def test_what_a_teams_organisation_sets_counts_before_the_users_value_value_by_value(path: Path) -> None:
    path.write_text(
        'max_attempts = 3\n[gates]\nseconds = 5\nci = true\n[gate.lint]\ncommand = "a"\nseconds = 9\n'
    )
    organisation = organisation_file("config.toml")
    organisation.parent.mkdir(parents=True)
    organisation.write_text(
        'max_attempts = 2\n[gates]\nseconds = 7\n[gate.lint]\ncommand = "b"\n[gate.x]\ncommand = "c"\n'
    )
    configuration = ConfigurationFile({"XDG_CONFIG_HOME": str(path.parent.parent)})
    settings, words = configuration.read()
    assert not words.problems
    assert (settings.max_attempts, settings.gates) == (2, GateSettings(seconds=7, ci=True))
    assert words.gate == {
        "lint": ConfiguredGate(command="b", seconds=9),
        "x": ConfiguredGate(command="c"),
    }
    assert words.said == {"seconds", "ci"}
    assert configuration.sources()[0].values["max_attempts"] == 2

    organisation.write_text("max_attempts = 2\nmode = 5\n")
    settings, errors = configuration.load()
    assert settings.max_attempts == 3
    assert [error.split(": ")[:2] for error in errors] == [[f"{organisation}:2", "mode"]]
    organisation.unlink()
    assert configuration.load()[1] == ()
