"""Whether a skip is honest: on another platform, for an older version, or where a dependency is missing.

Only conditions that cannot hold on a usual Linux machine with the project's own dependencies are honest. "Not
on Windows" as a reason to skip, the variables of CI and what is always true are none. Words in a reason prove
nothing.
"""

from __future__ import annotations

import re
from typing import Final

SYSTEM: Final = (
    r"(?:win32|windows|win|nt|cygwin|darwin|macos|osx|mac|java|aix|sunos|freebsd|wasm\w*|emscripten)"
)
PLACE: Final = (
    r"(?:sys\.platform|os\.name|platform\.system\(\)|process\.platform|os\.platform\(\)|runtime\.GOOS)"
)
HONEST: Final = (
    re.compile(rf"{PLACE}(?:\.lower\(\))? ?={{2,3}} ?[\"'`]{SYSTEM}[\"'`]", re.IGNORECASE),
    re.compile(rf"{PLACE}\.starts_?with\([\"'`]{SYSTEM}[\"'`]", re.IGNORECASE),
    re.compile(rf"{PLACE} in [(\[{{](?:[\"']{SYSTEM}[\"'],? ?)+[)\]}}]", re.IGNORECASE),
    re.compile(r"version_info(?:\[:2\])? ?< ?[(\[]3, ?\d+"),
    re.compile(r"version_info(?:\[:2\])? ?>=? ?[(\[]3, ?(?:1[3-9]|[2-9]\d)"),
    re.compile(r"find_spec\([^)]*\) is None|importorskip\(|which\([^)]*\) is None|not shutil\.which\("),
    re.compile(r"not hasattr\((?:os|socket|signal|select|sys|resource|asyncio), "),
    re.compile(r"except (?:\(.*)?(?:ImportError|ModuleNotFoundError)\b"),
    re.compile(r"testing\.Short\(\)|geteuid\(\) ?(?:!=|==) ?0|Getuid\(\) ?(?:!=|==) ?0|LookPath\("),
    re.compile(r"DisabledOnOs\((?:value ?= ?)?\{?(?:OS\.)?(?:WINDOWS|MAC)|(?:Disabled|Enabled)(?:On|For)Jre"),
    re.compile(r"cfg_attr\((?:windows|miri|target_os ?= ?\"(?:windows|macos|ios)\")"),
    re.compile(r"cfg\((?:not\((?:windows|miri)\)|unix)\)"),
    re.compile(r"//go:build (?:!(?:windows|darwin|plan9|js|wasm|race)|linux|unix)\b"),
)
"""Conditions by which a test is rightly left out, as they read in the languages we know."""
MISSING: Final = re.compile(
    r"(?:\bnot |!)(?:_?has|have|with)_?\w+|\bno_\w+\b|\b\w+ is None\b|\b(?:_?has|have)_\w+ is False",
    re.IGNORECASE,
)
NAMED: Final = re.compile(
    r"(?<!not )(?<!!)\b(?:is_?)?(?:on_?)?(?:windows|win32|macos|darwin|pypy|wasm)\b", re.IGNORECASE
)
"""A constant that names another system, outside of quotes."""
QUOTED: Final = re.compile(r"\"[^\"]*\"|'[^']*'|`[^`]*`")
INVERTED: Final = re.compile(r"\bskip_?unless|\brun_?if|\benabled_?if|\bEnabledOn", re.IGNORECASE)
HONEST_INVERTED: Final = re.compile(
    rf"{PLACE} ?!=={{0,1}} ?[\"'`]{SYSTEM}[\"'`]|version_info ?>=? ?[(\[]3, ?\d"
    r"|find_spec\([^)]*\)(?! is None)|which\((?![^)]*\) is None)"
    r"|hasattr\((?:os|socket|signal)|\b(?:has|have|with)_\w+|OS\.LINUX",
    re.IGNORECASE,
)
ENVIRONMENT: Final = re.compile(r"environ|getenv|process\.env|\bCI\b|EnvironmentVariable|SystemProperty")
CONDITIONAL: Final = re.compile(r"if|importorskip|unless|except|On|For|cfg|go:build|xfail\(", re.IGNORECASE)
REASON: Final = re.compile(
    r"""\b(?:reason|msg|disabledReason)\s?[=:]\s?(?:"[^"]*"|'[^']*')"""
    r"""|\bskip\w*\((?:"[^"]*"|'[^']*'|`[^`]*`)""",
    re.IGNORECASE,
)


def honest(skip: str) -> bool:
    """Whether a skip holds only where a test cannot be asked. Costs a few scans of at most 300 characters."""
    condition = REASON.sub("", skip)
    if ENVIRONMENT.search(condition):
        return False
    if INVERTED.search(condition):
        return HONEST_INVERTED.search(condition) is not None
    if not CONDITIONAL.search(skip):
        return False
    bare = QUOTED.sub("", condition)
    known = any(pattern.search(condition) for pattern in HONEST)
    return known or MISSING.search(bare) is not None or NAMED.search(bare) is not None
