"""What all Rubrics do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sidecar.rubric.policy import RubricStore
from sidecar.rubric.reader import RubricFiles
from support.memory_stores import FixedRubrics

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(params=("files", "no files", "memory"))
def rubrics(request: pytest.FixtureRequest, tmp_path: Path) -> RubricStore:
    if request.param == "memory":
        return FixedRubrics()
    if request.param == "files":
        (tmp_path / "rubric.md").write_text(
            "## Patterns\n- done: it is done\n## Antipatterns\n- talk: it is not\n"
        )
    return RubricFiles(tmp_path / "rubric.md")


@pytest.mark.parametrize(
    "project", ["", "/", "relative", "/no/such/folder", "/dev/null", "/\x00", "/" + "x" * 5000]
)
@pytest.mark.parametrize(
    "environment",
    [{}, {"HOME": ""}, {"HOME": "relative"}, {"HOME": "/no/such", "XDG_CONFIG_HOME": "/\x00"}],
)
def test_there_is_always_a_rubric_with_an_origin(
    rubrics: RubricStore, project: str, environment: dict[str, str]
) -> None:
    rubric = rubrics.load(project, environment)
    assert rubric.patterns
    assert rubric.antipatterns
    assert rubric.origin
    assert all(criterion.name for criterion in (*rubric.patterns, *rubric.antipatterns))


def test_a_rubric_is_made_once(rubrics: RubricStore, tmp_path: Path) -> None:
    try:
        path, made = rubrics.begin(str(tmp_path))
    except FileNotFoundError:
        assert not (tmp_path / "rubric.md").exists(), "there is nothing to begin with"
        return
    assert rubrics.begin(str(tmp_path)) == (path, False)
    assert not made or (tmp_path / ".supervisor" / "rubric.md").is_file()
