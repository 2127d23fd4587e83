"""Makes `benchmarks/judge` importable; at the end of the path, so that it hides nothing."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
