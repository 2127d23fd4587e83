"""The files in data/wording: every entry compiles, matches something, and has no gap without a limit."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import asdict

from sidecar.evidence.wording import OtherWording, clause_opening, english, opening, pattern
from sidecar.platform.data import list_data, load_data
from support.table import over_table

FIELDS = list(english().patterns)


@over_table("field", FIELDS)
def test_no_entry_of_a_field_matches_an_empty_text(field: str) -> None:
    assert not pattern(field).search("")
    assert not opening(field).match("")
    assert not clause_opening(field).search("")


@pytest.mark.parametrize("code", list_data("wording"))
def test_no_entry_has_a_gap_without_a_limit(code: str) -> None:
    patterns = english().patterns if code == "en" else asdict(load_data(f"wording/{code}", OtherWording))
    entries = [each for name in patterns if name != "common" for each in patterns[name]]
    assert entries
    assert [each for each in entries if re.search(r"(?<!\\)\.[*+]|\[\^[^\]]{1,20}\][*+]", each)] == []
