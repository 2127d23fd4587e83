"""docs/tools.md tells of every tool what the registry says.

After a change of a tool that you mean, run this file with RENEW_SNAPSHOTS=1 and read the diff.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from servers.tools.desk import Desk
from sidecar.servers.tools.toolbox import ToolOffer

pytestmark = [pytest.mark.proves("governed phases"), pytest.mark.proves("the loop")]

PAGE: Final = Path(__file__).parents[3] / "docs" / "tools.md"
HEAD: Final = "## Reference\n"


def test_the_reference_is_that_of_the_registry() -> None:
    said, found, _ = PAGE.read_text(encoding="utf-8").partition(HEAD)
    assert found
    page = said + HEAD + "".join(f"{line}\n" for line in reference(Desk().toolbox.all_offers()))
    if os.environ.get("RENEW_SNAPSHOTS"):
        PAGE.write_text(page, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page


def reference(offers: tuple[ToolOffer, ...]) -> Iterator[str]:
    for toolset in dict.fromkeys(offer.toolset for offer in offers):
        yield from ("", f"### Toolset `{toolset}`")
        told: set[str] = set()
        for offer in offers:
            if offer.toolset == toolset:
                yield from ("", f"**`{offer.name}`** ({habits(offer)}): {offer.description}")
                yield from ("", *arguments(offer.input_schema, told))
                yield f"- gives {kind_of(offer.output_schema, offer.output_schema)}"


def arguments(taken: dict[str, Any], told: set[str]) -> Iterator[str]:
    """One line for each. `told`: what was said of arguments before, which is not said again."""
    needed = taken.get("required", ())
    for name, schema in taken["properties"].items():
        default = f", else {schema['default']}" if schema.get("default") not in (None, "", [], {}) else ""
        optional = "" if name in needed else "?"
        about = f": {schema['description']}" if "description" in schema else ""
        yield f"- `{name}`{optional} {kind_of(schema, taken)}{default}{'' if about in told else about}"
        told.add(about)


def kind_of(schema: dict[str, Any], root: dict[str, Any]) -> str:
    """What a value is, in a few words."""
    if "$ref" in schema:
        return kind_of(root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    if "enum" in schema:
        return " | ".join(f"`{one}`" for one in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(kind_of(one, root) for one in schema["anyOf"])
    if schema.get("type") == "array":
        return f"list of {kind_of(schema.get('items', {}), root)}"
    if "properties" in schema:
        return "{" + ", ".join(f"`{name}`" for name in schema["properties"]) + "}"
    bounds = f" from {schema['minimum']} to {schema['maximum']}" if "maximum" in schema else ""
    return f"{schema.get('type', 'anything')}{bounds}"


def habits(offer: ToolOffer) -> str:
    if offer.reads:
        return "reads"
    return ("repeatable" if offer.repeats else "acts anew") + (", asks" if offer.asks else "")
