"""Tokens: whose they are, and that nobody else can make one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.kernel.session import SessionKey
from sidecar.servers.mcp.access import TOKEN_LIMIT, McpTokens
from sidecar.servers.tools.tool import Caller

TOKENS = McpTokens(lambda: "secret")
KEY = SessionKey("run", "night/1")
names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=50)


def test_the_users_own_token_lets_in_for_no_session_in_particular() -> None:
    assert TOKENS.caller(TOKENS.of_user()) == Caller()
    assert TOKENS.caller(TOKENS.of_user(person=True)) == Caller(person=True)


@given(names.filter(lambda name: "/" not in name), names, st.integers(0, 999))
def test_a_sessions_token_lets_in_for_it_however_it_is_called_and_says_whose_it_is(
    host: str, ident: str, worker: int
) -> None:
    key = SessionKey(host, ident)
    for person in (False, True):
        caller = Caller(bound=key, worker=worker, person=person)
        assert TOKENS.caller(TOKENS.of_session(key, worker, person=person)) == caller


def test_a_token_is_the_same_after_a_restart_and_worthless_under_another_secret() -> None:
    token = TOKENS.of_session(KEY)
    assert McpTokens(lambda: "secret").of_session(KEY) == token
    assert McpTokens(lambda: "another").caller(token) is None
    assert token.startswith("svs.")
    assert "secret" not in token


@given(st.data())
def test_a_token_that_was_changed_anywhere_lets_nobody_in(data: st.DataObject) -> None:
    token = data.draw(
        st.sampled_from([TOKENS.of_user(), TOKENS.of_user(person=True), TOKENS.of_session(KEY)])
    )
    place = data.draw(st.integers(0, len(token) - 1))
    letter = data.draw(st.characters(codec="latin-1").filter(lambda one: one != token[place]))
    assert TOKENS.caller(token[:place] + letter + token[place + 1 :]) is None
    assert TOKENS.caller(token[:place]) is None


@pytest.mark.parametrize("token", ["", "svs", "svs.", "svs..", "svs.cnVuL3g.", "x" * (TOKEN_LIMIT + 1)])
def test_what_is_no_token_lets_nobody_in(token: str) -> None:
    assert TOKENS.caller(token) is None


def test_the_seal_of_one_session_does_not_fit_another() -> None:
    one, other = TOKENS.of_session(KEY), TOKENS.of_session(SessionKey("run", "night/2"))
    mark, _, seal = one.split(".")
    assert TOKENS.caller(f"{mark}.{other.split('.')[1]}.{seal}") is None
