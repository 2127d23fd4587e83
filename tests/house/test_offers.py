"""What systems say that they offer is there, and nothing else of its kind is."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

from sidecar.cli import VERBS
from sidecar.kernel.offer import SystemOffer
from sidecar.servers import tools
from sidecar.systems.governance import OFFER as GOVERNANCE
from sidecar.systems.iteration import OFFER as ITERATION
from sidecar.systems.supervision import OFFER as SUPERVISION
from sidecar.systems.taskloop import OFFER as TASKLOOP
from sidecar.systems.tdd import OFFER as TDD

OFFERS = (SUPERVISION, ITERATION, TDD, TASKLOOP, GOVERNANCE)


def test_every_module_with_tools_speaks_for_one_system() -> None:
    modules = [module.name for module in pkgutil.iter_modules(tools.__path__)]
    with_tools = [
        name for name in modules if hasattr(importlib.import_module(f"{tools.__name__}.{name}"), "tools")
    ]

    assert sorted(name for offer in OFFERS for name in offer.tools) == with_tools


@pytest.mark.parametrize("offer", OFFERS)
def test_every_verb_of_a_system_is_a_command(offer: SystemOffer) -> None:
    for verb in offer.verbs:
        module, _, command = verb.place.partition(":")
        assert VERBS[verb.name] == verb
        assert hasattr(
            importlib.import_module(f"sidecar.cli.{module}"), command or verb.name.replace("-", "_")
        )
