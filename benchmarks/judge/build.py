"""Rebuilds the stored corpus.

    python benchmarks/judge/build.py [by_hand] [executed]

Both without names. `executed` runs the checks of some hundred small projects, which takes minutes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

BENCHMARKS: Final = Path(__file__).resolve().parents[1]
sys.path[0] = str(BENCHMARKS)  # instead of this folder, whose files are imported as `judge.NAME`
sys.path.append(str(BENCHMARKS.parent))
sys.path.append(str(BENCHMARKS.parent / "tests"))  # for `support.NAME`

from judge import corpus, executed  # noqa: E402 - after the path
from sidecar.kernel.stop_history import LabelledStop  # noqa: E402

MAKERS: Final[dict[str, Callable[[], tuple[LabelledStop, ...]]]] = {
    "by_hand": corpus.written_by_hand,
    "executed": executed.endings,
}


def main() -> int:
    """Build what is asked for."""
    parser = argparse.ArgumentParser(description="Rebuild the stored corpus.")
    parser.add_argument("sets", nargs="*", choices=[[], *MAKERS], metavar="SET", help=", ".join(MAKERS))
    for name in parser.parse_args().sets or MAKERS:
        items = MAKERS[name]()
        path = corpus.write(name, items)
        print(f"{name}: {len(items)} endings, {path.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
