"""Converts the rules of gitleaks into sidecar/data/secrets/gitleaks.json, which is never edited by hand.

    python .ci/convert_gitleaks.py CHECKOUT_OF_GITLEAKS > sidecar/data/secrets/gitleaks.json

gitleaks is written in Go. Python's `re` wants a flag inside of a pattern to have a group of its own, and has
other names for a few things. What follows a secret is left out: it is masked up to its end, whatever comes
then. Entropy and lists of allowed texts are not carried over: a mask too many costs little, and
tests/platform/test_honest_texts.py counts them.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

LEFT_OUT = {
    "curl-auth-header": "takes time quadratic in a line; the headers are in ours.toml",
    "curl-auth-user": "takes time quadratic in a line; the option is in ours.toml",
    "freemius-secret-key": "takes any text for a key; a quoted value with such a name is in ours.toml",
    "generic-api-key": "takes any word beside `key` or `token` for a secret; names are in ours.toml",
    "hashicorp-tf-password": "a quoted value with such a name is in ours.toml",
    "kubernetes-secret-yaml": "spans lines",
    "nuget-config-password": "takes time quadratic in a line",
    "private-key": "spans lines; blocks of keys are in ours.toml",
    "sourcegraph-access-token": "takes any commit id for a secret; what has a form is in ours.toml",
    "vault-service-token": "its old form, `s.` and 24 characters, is any attribute; the new is in ours.toml",
}
NO_SECRET = re.compile(r"-(?:client-id|access-id|api-id|pub-key|pub-api-key|public-key)$")
"""Rules for identifiers and public keys."""
NAME_BEFORE = re.compile(r"\[\\w\.-\]\{0,50\}\?(?:\(\?i:\[\\w\.-\]\{0,50\}\?(?=\())?")
"""The beginning of a name that a service's own name stands in: it costs time and changes nothing."""
ASSIGNED = r"""(?:[ \t\w.-]{0,20})[\s'"]{0,3}(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)[\x60'"\s=]{0,5}"""
END = r"""(?:[\x60'"\s;]|\\[nr]|$)"""
BEGIN = "(?<![A-Za-z0-9])"
"""Where a secret begins; `\\b` would miss one after a "_", as in a file's name."""
ENDS = (END, END.replace("|$)", r"|$|\b)"), r"(?:[^\w-]|\z)", r"(?:[^a-zA-Z0-9+/]|\z)")
ABOUT = """\
What secrets look like: config/gitleaks.toml of gitleaks {version},
https://github.com/gitleaks/gitleaks, converted by .ci/convert_gitleaks.py. Do not edit it: what is missing
here is in ours.toml, which says what the fields are.

{licence}"""


def convert_pattern(pattern: str) -> tuple[str, bool]:
    """Return a pattern as Python's `re` wants it, and whether a name has to stand before the secret."""
    named = ASSIGNED in pattern or ASSIGNED.replace("{0,3}", "{0,3})") in pattern
    for end in ENDS:
        pattern = pattern.replace(end, r"(?![\w-])" if named else "")
    pattern = pattern.replace(ASSIGNED, "<is>").replace(ASSIGNED.replace("{0,3}", "{0,3})"), "<is>")
    pattern = NAME_BEFORE.sub("", pattern).replace("[[:alnum:]]", "[a-zA-Z0-9]").replace(r"\z", r"\Z")
    pattern = re.sub(r"^\\b|^\(\?i:\\b|^\(\?i\)\\b", lambda found: found[0].replace(r"\b", BEGIN), pattern)
    return _group_flags(pattern), named


def _group_flags(pattern: str) -> str:
    """Give each flag inside of a pattern a group that ends where the group around it does."""
    while (at := pattern.find("(?i)")) >= 0:
        depth, place, in_class = 0, at + 4, False
        while place < len(pattern) and depth >= 0:
            sign = pattern[place]
            if sign == "\\":
                place += 1
            elif in_class:
                in_class = sign != "]"
            elif sign == "[":
                in_class = True
            else:
                depth += (sign == "(") - (sign == ")")
            place += depth >= 0
        pattern = f"{pattern[:at]}(?i:{pattern[at + 4 : place]}){pattern[place:]}"
    return pattern


def convert_rule(rule: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the kind of a rule and the rule."""
    pattern, named = convert_pattern(rule["regex"])
    if rule.get("secretGroup", 1) > 1:  # a group before the secret is only for its alternatives
        pattern = pattern.replace("(login|", "(?:login|")
    re.compile(pattern.replace("<is>", ""), re.ASCII)
    kept = {"id": rule["id"], "keywords": rule["keywords"], "pattern": pattern}
    return "named" if named else "forms", kept


def main(checkout: Path) -> None:
    """Write the rules to standard output."""
    git = ("git", "-C", str(checkout))
    version = subprocess.check_output((*git, "describe", "--tags"), text=True).strip()
    config = subprocess.check_output((*git, "show", "HEAD:config/gitleaks.toml"), text=True)
    licence = subprocess.check_output((*git, "show", "HEAD:LICENSE"), text=True).strip()
    about = ABOUT.format(version=version, licence=licence).split("\n")
    rules: dict[str, Any] = {"about": about, "parts": {"is": ASSIGNED}, "forms": [], "named": []}
    for rule in tomllib.loads(config)["rules"]:
        if "regex" in rule and rule["id"] not in LEFT_OUT and not NO_SECRET.search(rule["id"]):
            kind, kept = convert_rule(rule)
            rules[kind].append(kept)
    print(json.dumps(rules, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
