"""Secrets that the session's environment does not hold are known by their form."""

from __future__ import annotations

import inspect
import string
from base64 import b64encode
from random import Random
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from sidecar.platform.secrets import SecretForms
from sidecar.systems.supervision.policy import stop
from support.table import over_table

if TYPE_CHECKING:
    from collections.abc import Callable

MASK = SecretForms().masker({})
RANDOM = Random(4)  # noqa: S311 - made-up keys
ALNUM = string.ascii_letters + string.digits


def made(count: int, letters: str = ALNUM) -> str:
    """Draw characters that no detector of ours has ever seen, so no real key stands in this file."""
    return "".join(RANDOM.choices(letters, k=count))


HEX = string.hexdigits.lower()[:16]
UPPER = string.ascii_uppercase
WIDE = ALNUM + "-_"
JSON_TOKEN = f"eyJ{made(20)}.eyJ{made(60)}.{made(43, WIDE)}"

FORMS = {
    "Anthropic": f"sk-ant-api03-{made(93, WIDE)}AA",
    "OpenAI, of a user": f"sk-{made(20)}T3BlbkFJ{made(20)}",
    "OpenAI, of a project": f"sk-proj-{made(74, WIDE)}T3BlbkFJ{made(73, WIDE)}z",
    "OpenRouter": f"sk-or-v1-{made(64, HEX)}",
    "DeepSeek": f"sk-{made(32, HEX)}",
    "Groq": f"gsk_{made(52)}",
    "xAI": f"xai-{made(80)}",
    "Hugging Face": f"hf_{made(34)}",
    "Google": f"AIza{made(35)}",
    "Google, of a session": f"ya29.a0{made(60, WIDE)}x",
    "GitHub": f"ghp_{made(36)}",
    "GitHub, fine-grained": f"github_pat_{made(22)}_{made(59)}",
    "GitLab": f"glpat-{made(20)}",
    "npm": f"npm_{made(36)}",
    "PyPI": f"pypi-AgEIcHlwaS5vcmc{made(80)}",
    "AWS": f"AKIA{made(16, UPPER + '234567')}",
    "Azure": f"AccountKey={made(86)}==",
    "DigitalOcean": f"dop_v1_{made(64, HEX)}",
    "Vault": f"hvs.{made(94)}",
    "Doppler": f"dp.pt.{made(43)}",
    "Databricks": f"dapi{made(32, HEX)}",
    "Shopify": f"shpat_{made(32, HEX)}",
    "Stripe": f"sk_live_{made(24)}",
    "Linear": f"lin_api_{made(40)}",
    "Notion": f"ntn_{made(11, string.digits)}{made(35)}",
    "SendGrid": f"SG.{made(22)}.{made(43)}",
    "Mailchimp": f"{made(32, HEX)}-us12",
    "Twilio": f"SK{made(32, HEX)}",
    "Telegram": f"{made(10, string.digits)}:AA{made(33)}",
    "Slack": f"xoxb-{made(12, string.digits)}-{made(12, string.digits)}-{made(24)}",
    "Slack, a webhook": f"https://hooks.slack.com/services/T{made(8, UPPER)}/B{made(8, UPPER)}/{made(24)}",
    "Discord": f"M{made(23)}.{made(6)}.{made(38)}",
    "Discord, a webhook": f"https://discord.com/api/webhooks/{made(18, string.digits)}/{made(68)}",
    "age": f"AGE-SECRET-KEY-1{made(58, 'QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L')}",
    "a web token": JSON_TOKEN,
    "our MCP, of a session": f"svs.{made(24)}.{made(64, HEX)}",
    "our MCP, of one of several agents": f"svs.{made(24)}~12.{made(64, HEX)}",
    "our MCP, of a person": f"svp..{made(64, HEX)}",
    "our MCP, of the user": f"svu_{made(43, WIDE)}",
}
"""Secrets that are known by themselves."""
AROUND = (
    "{}",
    "the key is {}.",
    "export KEY={}",
    '+  "key": "{}",',
    "curl -H 'x: {}' a.b",
    "a/dump_{}.py",
)
NAMED = {
    "a header with a token": ("Authorization: Bearer {}", made(32)),
    "a header with a password": ("authorization: Basic {}", f"{made(22)}=="),
    "a cookie": ("Cookie: {}", f"session={made(20)}; theme=dark"),
    "a password in an address": ("postgres://bob:{}@db.example.com/x", made(9)),
    "curl -u": ("curl -s -u bob:{} https://example.com", made(9)),
    "curl -u, on a line of its own": ("  -u 'bob:{}' \\", made(9)),
    "--password": ("tool login --password {} --verbose", made(9, string.ascii_lowercase)),
    "--api-key": ("tool login --api-key={}", f"{made(8)}7"),
    "mysql -p": ("mysql -u root -p{} shop", f"{made(8)}7"),
    "netrc": ("machine example.com\n  login bob\n  password {}", made(9)),
    "an element": ("<server><password>{}</password></server>", made(9)),
    "an environment variable": ("export DB_PASSWORD={}", made(9)),
    "a line of YAML": ("  password: {}", made(9, string.ascii_lowercase)),
    "a value in a sentence": ("I set password: {} and went on", f"{made(8)}7"),
    "a value in code": ('client = connect(user="bob", password="{}")', made(9)),
    "an AWS secret key": ("aws_secret_access_key = {}", f"{made(38)}/7"),
    "npmrc": ("//registry.example.com/:_authToken={}", f"{made(8)}-{made(8)}"),
}
"""Secrets that are known by what stands beside them."""
PHRASE = "grey kettle under the bridge"
DRAWN = "xK9mB4vQ7tRw2Zc5Ln8P"
TELLING = {
    "a drawn word, wherever it stands": (f"sent {DRAWN} to it", DRAWN),
    "a word with a sign, as a password has": ('send "5j?7HDK5j4k8"', "5j?7HDK5j4k8"),
    "base64 of a password": ("334 ZHdIRTVUSipeR0FibD9l", "ZHdIRTVUSipeR0FibD9l"),
    "a block of YAML": (f"db_password: >-\n  {PHRASE}\nport: 1", PHRASE),
    "a list of YAML": ("passwords:\n  - summer-1983-x\n  - winter-1984-y\nroles: []", "winter-1984-y"),
    "a macro": (f'#define WIFI_PASSPHRASE \\\n    "{PHRASE}"', PHRASE),
    "bytes": (
        "SIGN_KEY[] = { 0x4e, 0x49, 0x4e, 0xa9, 0xe0, 0x97, 0x27, 0x5e, 0xef, 0xe7, 0x66, 0xd1 }",
        "0xa9, 0xe0",
    ),
    "a pair of Kubernetes": ('- name: ADMIN_PASSWORD\n  value: "lighthouse-four"', "lighthouse-four"),
    "data of Kubernetes": ("data:\n  a.txt: c2hvcA==\nkind: Secret\n", "c2hvcA=="),
    "CDATA": (f"<passphrase><![CDATA[{PHRASE}]]></passphrase>", PHRASE),
    "a column of Markdown": ("| who | password |\n|---|---|\n| bob | snowball-4 |", "snowball-4"),
    "a column of CSV": ("id;password_first;active\n1;plum*604;yes\n2;pear*605;no", "pear*605"),
    "a column of SQL": (" id | api_secret \n----+----\n  1 | efb93257bf0c2d23 \n", "efb93257bf0c2d23"),
    "a column of spaces": ("NAME    SECRET         AGE\nshop    fir-cone-31    3d", "fir-cone-31"),
    "a connection": ("Server=a;Uid=c;Password=Autumn in the woods;Encrypt=yes", "Autumn in the woods"),
    "a statement of SQL": ("ALTER USER x IDENTIFIED BY 'Quarter&Past9'", "Quarter&Past9"),
    ".pgpass": ("db.example.com:5432:shop:app:elderberry", "elderberry"),
    "a hash of a password": ("bob:$apr1$GEaplXOU$0sJSkPEF7cZCgkKkbUXd6g", "0sJSkPEF7cZCgkKkbUXd6g"),
    "a token for a user": ("https://e2985b515d37d2bdf867@git.example.com/a", "e2985b515d37d2bdf867"),
    "a signed address": ("https://a.b/c?X-Amz-Signature=b98e46308fc1f0ac1319", "b98e46308fc1f0ac1319"),
    "a flag": ("x11vnc -passwd f0vJFnGn -forever", "f0vJFnGn"),
    "a flag after a user": ("mongosh -u ops -p plum-tree-9 x", "plum-tree-9"),
    "a flag of a tool": (f"ssh-keygen -N '{PHRASE}' -f x", PHRASE),
    "what a pipe brings": ("echo 'apple-pie' | sudo -S ls", "apple-pie"),
    "codes for recovery": ("9e822-7qvuu\npo4fe-cspxi\nfytqs-x1cm9\n53mc9-jxx6t\n", "po4fe-cspxi"),
    "words of a wallet": (
        "lobster umbrella dolphin matrix thunder candy ensure fabric quantum icon velvet walnut",
        "dolphin matrix",
    ),
    "an answer to a prompt": ("Password (it is shown)\n> kettle.no.77", "kettle.no.77"),
    "a sentence": ("the password is Onion#3!x, as before", "Onion#3!x"),
    "said again": ("password: bridge-77-x\n$ login bridge-77-x", "login bridge-77-x"),
}
"""Secrets in the forms of files, tables, tools and people; the second is what must not be left."""


def pieces(secret: str, length: int = 8) -> set[str]:
    """All parts of a secret of which none may be left, but for its beginning, which all of its kind share."""
    return {secret[at : at + length] for at in range(len(secret) // 3, len(secret) - length + 1)}


@over_table("secret", FORMS.values(), ids=FORMS)
@over_table(
    "around",
    [
        "{}",
        "the key is {}.",
        "export KEY={}",
        '+  "key": "{}",',
        "curl -H 'x: {}' a.b",
        "a/dump_{}.py",
    ],
)
def test_a_secret_of_a_known_form_is_masked_whole(secret: str, around: str) -> None:
    masked = MASK(around.format(secret))
    assert not [piece for piece in pieces(secret) if piece in masked]
    assert "[masked]" in masked


@over_table("split", ["\x1b[0m\x1b[31m", "\u200b", "\ufeff", "\n", "\\\n    "])
@over_table("secret", FORMS.values(), ids=FORMS)
def test_a_secret_of_a_known_form_is_masked_where_something_splits_it(secret: str, split: str) -> None:
    at = 2 * len(secret) // 3
    masked = MASK(f"it is {secret[:at]}{split}{secret[at:]}\nand that was all")
    assert not [piece for piece in pieces(secret) if piece in masked and len(secret[at:]) >= len(piece)]
    assert masked.endswith("\nand that was all")


@over_table("kind", NAMED)
def test_what_a_name_calls_secret_is_masked_and_its_name_stays(kind: str) -> None:
    line, secret = NAMED[kind]
    assert MASK(f"before\n{line.format(secret)}\nafter") == f"before\n{line.format('[masked]')}\nafter"
    hidden = line.format(f"{secret[:4]}\x1b[1m\u200b{secret[4:]}")
    assert MASK(hidden) == line.format("[masked]")


@over_table("kind", TELLING)
def test_a_secret_is_known_by_the_structure_that_it_stands_in(kind: str) -> None:
    text, secret = TELLING[kind]
    assert secret not in MASK(text)
    assert "[masked]" in MASK(text)


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
        "docker run --user 1000:1000 --password PASSWORD image",
        "key = names_of_fields_by_number_1[-1]",
        "PWD=/home/user/project-1",
        "sk-learn-estimator-documentation-link",
        '"integrity": "sha512-' + "aB3/" * 21 + 'ab=="',
        f"golang.org/x/oauth2 v0.21.0 h1:{DRAWN}",
        f"x-amz-version-id: {DRAWN}",
        f"ssh-ed25519 AAAAC3{DRAWN}",
        "/nix/store/99m12iegs0xidv14gg60ogrf4lgw8apw-source",
        f"dist/{DRAWN}.woff2",
        "dGhlIHBhcnNlciBhY2NlcHRzIDMgY29tbWVudHM=",
        '"login.password": "Password"',
        '"login.forgot_password": "Password forgotten?"',
        'PASSWORD_FIELD = "passwordField"',
        "existingSecret: shop-db-2",
        "secret_name: my-app-db-2",
        'private_key: "keys/boot_signing.pem"',
        "apiKey: ReadonlyUint8Array",
        '"password": "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER"',
        "test_token.py::test_expired_token_returns_401 FAILED",
        "secrets:\n  - db_password\n  - api_key",
        "| `access_token`  | string  | at most 512 characters |",
        "if password:\n    check(password)",
        "def f(password, x1,\n      token, x2,\n      y):",
        "keys = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]",
        "docker run -u root -p 8080:80 shop",
        "src/a.py:12:5:E501:line too long",
    ],
)
def test_ordinary_lines_are_left_as_they_are(line: str) -> None:
    assert MASK(line) == line


def test_the_source_of_this_product_holds_no_secret() -> None:
    source = inspect.getsource(stop)
    assert MASK(source) == source


def test_values_of_the_environment_are_masked_too() -> None:
    mask = SecretForms().masker({"MY_TOKEN": "as plain as day"})
    assert mask("it is as plain as day") == "it is [masked]"


@over_table(
    "value",
    [f"{made(9)}4x{made(9)}", f"3f{made(30, HEX)}", f"Endpoint=sb://bus.example/;Key={made(10)}7q{made(20)}"],
    ids=["drawn", "hexadecimal", "a part of it"],
)
def test_a_value_of_the_environment_that_looks_random_is_masked_whatever_its_name(value: str) -> None:
    shown = value.rpartition("Key=")[2]
    assert SecretForms().masker({"BACKEND": value})(f"got {shown}!") == "got [masked]!"


@over_table(
    "value",
    [
        "xterm-256color",
        "24ef11d7714f3028ecaf13c0c5d2e572e04ad197",
        "/nix/store/0c5a1x9sdp8q7z2y-python3-3.11.4/bin",
        "my-project-2024-01-15",
        "getUserNameById",
    ],
)
def test_an_ordinary_value_of_the_environment_stays(value: str) -> None:
    assert SecretForms().masker({"BACKEND": value})(f"got {value}!") == f"got {value}!"


@over_table("encode", [lambda said: b64encode(said).decode(), bytes.hex], ids=["base64", "hexadecimal"])
def test_what_encodes_a_secret_is_one(encode: Callable[[bytes], str]) -> None:
    for said in (b"deploy:wohl-kaum!", f"token is {FORMS['GitHub']}".encode()):
        assert MASK(f'  "auth": "{encode(said)}",') == '  "auth": "[masked]",'
    harmless = encode(b"the parser accepts comments")
    assert MASK(harmless) == harmless


def test_a_secret_in_a_line_without_end_is_found() -> None:
    secret = FORMS["GitHub"]
    masked = MASK(f"{'word ' * 50_000}{secret} {'x' * 100_000}")
    assert secret not in masked
    assert masked.endswith("x" * 1000)


@given(st.text(max_size=300))
def test_texts_keep_their_lines(text: str) -> None:
    assert MASK(text).count("\n") <= text.count("\n")
    assert MASK(MASK(text)) == MASK(text)
