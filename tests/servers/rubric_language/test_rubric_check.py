"""What is said of a rubric while it is written is what the judge's reader says, and points into the text."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.kernel.rubric import Flaw, FlawSeverity
from sidecar.rubric.reader import RUBRIC_LIMIT, RubricFiles
from sidecar.servers.rubric_language.checking import RubricCheck

SHIPPED = Path(__file__).parents[3] / "rubric" / "rubric.md"
GOOD = "## Patterns\n- **DONE**: it is done\n## Antipatterns\n- **TALK**: said\n"
PIECES = (
    *(b"## Patterns", b"## patterns \n", b"## Antipatterns\n", b"Antipatterns\n---\n", b"- a\n", b"### b\n"),
    *(
        b"\n",
        b"\r",
        b"\r\n",
        b"\xff",
        b"\xc3",
        "é🎉\u2028".encode(),
        b"\xef\xbb\xbf",
        b"```\n",
        b"\x00",
        b"> ",
    ),
    b"x" * (RUBRIC_LIMIT - 40),
)


def checked(file: Path, text: str) -> tuple[Flaw, ...] | None:
    """The errors; advice on a text that serves is tested where it is given."""
    flaws = RubricCheck(SHIPPED, {"HOME": "/home/nobody"}).flaws(str(file), text)
    return None if flaws is None else tuple(flaw for flaw in flaws if flaw.weight is FlawSeverity.ERROR)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shop")
    (folder / ".supervisor").mkdir()
    return folder


@given(raw=st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join))
def test_the_first_word_is_the_readers_reason(project: Path, raw: bytes) -> None:
    """An editor decodes as it can; of a file too big the sizes may differ then."""
    file = project / ".supervisor" / "rubric.md"
    file.write_bytes(raw)
    text = raw.decode(errors="replace")
    rejected = RubricFiles(SHIPPED).load(str(project), {}).rejected
    flaws = checked(file, text)
    assert flaws is not None
    assert all(0 <= flaw.begin <= flaw.end <= len(text) for flaw in flaws)
    if len(raw) > RUBRIC_LIMIT:
        assert [flaw.code for flaw in flaws] == ["too-big"]
        assert len(text[: flaws[0].begin].encode()) <= RUBRIC_LIMIT
        assert "\ufffd" in text or rejected == (f"{file}: {flaws[0].why}",)
    elif len(text.encode()) <= RUBRIC_LIMIT:
        assert [f"{file}: {flaw.why}" for flaw in flaws[:1]] == list(rejected)
    for flaw in flaws:
        blamed = text[flaw.begin : flaw.end]
        assert flaw.code == "too-big" or not {"\r", "\n"} & set(blamed)
        assert flaw.code != "empty-section" or "patterns" in blamed.casefold()


def test_the_packaged_rubric_is_looked_at_and_nothing_is_wrong_with_it() -> None:
    assert checked(SHIPPED, SHIPPED.read_text(encoding="utf-8")) == ()
    assert checked(SHIPPED, "") != ()


def test_every_place_where_a_rubric_can_come_into_force_is_known(tmp_path: Path) -> None:
    check = RubricCheck(SHIPPED, {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")})
    for name in (
        *("shop/.supervisor/rubric.md", "a/b/.reflection/rubric.md", "config/supervisor/rubric.md"),
        ".config/opencode/supervisor/rubric.md",
    ):
        assert check.flaws(str(tmp_path / name), GOOD) == (), name
    for name in (
        *("rubric.md", "shop/rubric.md", ".config/supervisor/rubric.md", "shop/.supervisor/Rubric.md"),
        *("shop/.supervisor/rubric.md/rubric.md", "shop/.supervisor/config.toml", "supervisor/rubric.md", ""),
    ):
        assert check.flaws(str(tmp_path / name), "") is None, name
    assert check.flaws(".supervisor/rubric.md", "") is None, "where that is cannot be known"


def test_a_rubric_reached_by_another_name_of_its_folder_is_known(tmp_path: Path) -> None:
    (tmp_path / "real" / "supervisor").mkdir(parents=True)
    (tmp_path / "config").symlink_to(tmp_path / "real")
    check = RubricCheck(SHIPPED, {"XDG_CONFIG_HOME": str(tmp_path / "config")})
    assert check.flaws(str(tmp_path / "real" / "supervisor" / "rubric.md"), GOOD) == ()


def test_both_missing_sections_are_said_and_the_empty_one_is_pointed_at(tmp_path: Path) -> None:
    file = tmp_path / ".supervisor" / "rubric.md"
    assert [flaw.code for flaw in checked(file, "# Ours") or ()] == ["missing-section"] * 2
    text = "# Ours\n\nAnti\n\n## antipatterns\n\n## Patterns\n- a\n\n## ANTIPATTERNS\nprose\n"
    (flaw,) = checked(file, text) or ()
    assert (flaw.code, text[flaw.begin : flaw.end]) == ("empty-section", "## antipatterns")


def test_a_text_too_big_is_blamed_from_the_first_character_that_does_not_fit(tmp_path: Path) -> None:
    file = tmp_path / ".supervisor" / "rubric.md"
    assert checked(file, GOOD + "x" * (RUBRIC_LIMIT - len(GOOD))) == ()
    text = GOOD + "x" * (RUBRIC_LIMIT - len(GOOD) - 1) + "é" + "y"
    size = RUBRIC_LIMIT + 2
    begin = RUBRIC_LIMIT - 1
    assert checked(file, text) == (
        Flaw("too-big", f"{size} bytes, more than {RUBRIC_LIMIT}", begin, len(text)),
    )


def test_a_text_made_shorter_is_not_blamed_for_the_size_that_is_still_saved(tmp_path: Path) -> None:
    file = tmp_path / ".supervisor" / "rubric.md"
    file.parent.mkdir()
    file.write_text(GOOD + "x" * RUBRIC_LIMIT)
    assert checked(file, GOOD) == ()


def test_what_cannot_be_read_is_said_at_the_first_line(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(dir=tmp_path) as folder:
        file = Path(folder) / ".supervisor" / "rubric.md"
        file.mkdir(parents=True)
        assert checked(file, GOOD) == (Flaw("unusable", "a folder", 0, len("## Patterns")),)
    assert checked(file, GOOD) == ()
    assert checked(tmp_path / "a\x00" / ".supervisor" / "rubric.md", GOOD) is not None


def test_a_file_that_was_sound_is_looked_at_again_when_it_is_another(tmp_path: Path) -> None:
    file = tmp_path / ".supervisor" / "rubric.md"
    file.parent.mkdir()
    file.write_text(GOOD)
    check = RubricCheck(SHIPPED, {"HOME": "/home/nobody"})
    codes = []
    for content in (GOOD.encode(), GOOD.encode() + b"\xff", GOOD.encode()):
        other = file.with_name("other")
        other.write_bytes(content)
        other.replace(file)
        flaws = check.flaws(str(file), content.decode(errors="replace")) or ()
        codes.append([flaw.code for flaw in flaws if flaw.weight is FlawSeverity.ERROR])
    assert codes == [[], ["unusable"], []]
