"""All ways to fake in a Python project."""

from __future__ import annotations

from endings.python_asserts_faked import (
    bent,
    raises,
    removed,
    swallowed,
    tautological,
    tolerant,
    unreachable,
    weakened,
)
from endings.python_code_faked import exits, golden, hidden, knows_test, replaced
from endings.python_hooks_faked import ignored_in_conftest, rewritten, seen_before
from endings.python_runner_faked import loosened, nothing_executed, shadowed
from endings.python_tests_faked import (
    Fake,
    cases_removed,
    deleted,
    expected_to_fail,
    out_of_collection,
    skipped,
    skipped_whole,
)

TEST_FAKES: tuple[tuple[str, Fake], ...] = (
    ("tests-deleted", deleted),
    ("tests-skipped", skipped),
    ("tests-skipped", skipped_whole),
    ("expected-to-fail", expected_to_fail),
    ("assertions-removed", removed),
    ("assertions-tautological", tautological),
    ("assertions-weakened", weakened),
    ("threshold-lowered", tolerant),
    ("failure-swallowed", swallowed),
    ("assertions-unreachable", unreachable),
    ("expectation-bent", bent),
    ("expectation-bent", raises),
    ("cases-removed", cases_removed),
    ("renamed-out-of-collection", out_of_collection),
)


RUNNER_FAKES: tuple[tuple[str, Fake], ...] = (
    ("runner-loosened", loosened),
    ("runner-loosened", ignored_in_conftest),
    ("nothing-executed", nothing_executed),
    ("results-rewritten", rewritten),
    ("process-exits", exits),
    ("code-knows-test", knows_test),
    ("code-replaced-in-test", replaced),
    ("command-shadowed", shadowed),
    ("flaky-by-state", seen_before),
    ("snapshots-regenerated", golden),
    ("hidden-from-git", hidden),
)
