"""Secrets that the session's environment does not hold are known by their form."""

from __future__ import annotations

import inspect
import string
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.platform.secrets import SecretForms
from sidecar.systems.supervision.policy import skip
from support.table import over_table

MASK = SecretForms().masker({})
RANDOM = Random(4)  # noqa: S311 - made-up keys
ALNUM = string.ascii_letters + string.digits


def made(count: int, letters: str = ALNUM) -> str:
    """Draw characters that no detector of ours has ever seen, so no real key stands in this file."""
    return "".join(RANDOM.choices(letters, k=count))


FORMS = {
    "Anthropic": f"sk-ant-api03-{made(90)}",
    "OpenAI": f"sk-proj-{made(20)}T3BlbkFJ{made(20)}",
    "GitHub": f"ghp_{made(36)}",
    "GitHub, fine-grained": f"github_pat_{made(22)}_{made(59)}",
    "GitLab": f"glpat-{made(20)}",
    "Google": f"AIza{made(35)}",
    "Slack": f"xoxb-{made(12, string.digits)}-{made(12, string.digits)}-{made(24)}",
    "AWS": f"AKIA{made(16, string.ascii_uppercase + '234567')}",
    "Stripe": f"sk_live_{made(24)}",
    "npm": f"npm_{made(36)}",
    "a web token": f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.{made(43)}",
    "SendGrid": f"SG.{made(22)}.{made(43)}",
}


@over_table("secret", FORMS.values(), ids=FORMS)
@over_table("around", ["{}", "export KEY={}", '  "key": "{}",', "curl -H 'x: {}' https://a.b"])
def test_a_secret_of_a_known_form_is_masked_whole(secret: str, around: str) -> None:
    masked = MASK(around.format(secret))
    assert secret[-12:] not in masked
    assert "[masked]" in masked


@pytest.mark.parametrize(
    ("line", "masked"),
    [
        ("DB_PASSWORD=hunter2hunter2", "DB_PASSWORD=[masked]"),
        ("export API_TOKEN=abcdef", "export API_TOKEN=[masked]"),
        ('password = "correct horse"', 'password = "[masked]"'),
        ("aws_secret_access_key = " + "a1" * 20, "aws_secret_access_key = [masked]"),
        ("postgres://bob:s3cr3tpw@db.example.com/x", "postgres://bob:[masked]@db.example.com/x"),
        ("Authorization: Bearer abcdefghijklmnopqrstuv", "Authorization: [masked]"),
    ],
)
def test_what_a_name_calls_secret_is_masked_and_its_name_stays(line: str, masked: str) -> None:
    assert MASK(line) == masked
    assert MASK(f"before\n{line}\nafter") == f"before\n{masked}\nafter"


def test_a_private_key_is_masked_with_its_body_even_where_its_end_was_cut_off() -> None:
    body = "\n".join(made(64) for _ in range(5))
    head = "-----BEGIN RSA PRIVATE KEY-----"
    whole = f"here:\n{head}\n{body}\n-----END RSA PRIVATE KEY-----\nthat is all"
    assert MASK(whole) == "here:\n[masked]\nthat is all"
    assert MASK(f"{head}\n{body}") == "[masked]"


@over_table(
    "line",
    [
        "commit 24ef11d7714f3028ecaf13c0c5d2e572e04ad197",
        "id 550e8400-e29b-41d4-a716-446655440000",
        "tests/test_tokens.py::test_password_is_checked PASSED",
        "token = parser.next_token()",
        "max_tokens=asked.max_tokens,",
        'password: str = field(default="")',
        "TOKEN=$(cat token.txt)",
        "PASSWORD=<your password>",
        '"integrity": "sha512-' + "aB3/" * 21 + 'ab=="',
    ],
)
def test_ordinary_lines_are_left_as_they_are(line: str) -> None:
    assert MASK(line) == line


def test_the_source_of_this_product_holds_no_secret() -> None:
    source = inspect.getsource(skip)
    assert MASK(source) == source


def test_values_of_the_environment_are_masked_too() -> None:
    mask = SecretForms().masker({"MY_TOKEN": "as plain as day"})
    assert mask("it is as plain as day") == "it is [masked]"


def test_a_secret_in_a_line_without_end_is_found() -> None:
    secret = FORMS["GitHub"]
    masked = MASK(f"{'word ' * 50_000}{secret} {'x' * 100_000}")
    assert secret not in masked
    assert masked.endswith("x" * 1000)


@given(st.text(max_size=300))
def test_texts_keep_their_lines(text: str) -> None:
    assert MASK(text).count("\n") <= text.count("\n")
    assert MASK(MASK(text)) == MASK(text)
