"""docs/proofs/systems.md says for each feature of the folded systems which tests show it: features.toml.

After a change that you mean: `RENEW_SNAPSHOTS=1 python -m pytest tests/house/test_features.py`.
"""

from __future__ import annotations

import ast
import os
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent.parent
FEATURES: Final = Path(__file__).with_name("features.toml")
PAGE: Final = ROOT / "docs" / "proofs" / "systems.md"
HEAD: Final = """# Which tests show what of the folded systems

Drawn by `tests/house/test_features.py` of `features.toml` beside it; all tests by subject: [tests](tests.md).
"""


def test_each_feature_of_the_folded_systems_is_shown_by_tests_that_are_there() -> None:
    files: dict[str, list[str]] = defaultdict(list)
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                files[node.name.removeprefix("test_")].append(path.relative_to(ROOT / "tests").as_posix())
    lines = [HEAD]
    for system, rows in tomllib.loads(FEATURES.read_text(encoding="utf-8")).items():
        lines += [f"## {system}\n", "| feature | shown by |", "|---|---|"]
        for feature, tests in rows.items():
            assert tests, feature
            gone = [name for name in tests if name not in files]
            assert not gone, f"{feature}: {gone}"
            shown = "; ".join(f"{name.replace('_', ' ')} (`{', '.join(files[name])}`)" for name in tests)
            lines.append(f"| {feature} | {shown} |")
        lines.append("")
    drawn = "\n".join(lines)
    if os.environ.get("RENEW_SNAPSHOTS"):
        PAGE.write_text(drawn, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == drawn
