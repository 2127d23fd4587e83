"""Names of models and what they cost: both are in the settings, for judging and for workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import astuple

from sidecar.kernel.settings import ModelPrice, ModelTiers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sidecar.kernel.settings import ServiceSettings, Settings


TOKEN_COUNT_LIMIT: Final = 1_000_000_000
"""Maximum tokens that a service may report; a higher number is not believed."""
MILLION: Final = 1_000_000


class TokenUsage(Struct, frozen=True):
    """Tokens of one answer: `input` that was not cached, `cached` input, and `output`."""

    input: int = 0
    cached: int = 0
    output: int = 0

    @property
    def tokens(self) -> int:
        """What counts for budgets: uncached input plus output."""
        return self.input + self.output


def answer_price_cents(model: str, usage: TokenUsage, prices: Mapping[str, ModelPrice]) -> float | None:
    """Price an answer by the exact name of its model, else by the longest prefix; None if unknown."""
    names = [name for name in prices if name and model.startswith(name)]
    if not names:
        return None
    price = prices[max(names, key=len)]
    cached = price.input if price.cached is None else price.cached
    return (usage.input * price.input + usage.cached * cached + usage.output * price.output) / MILLION


def model_prices(settings: Settings) -> dict[str, ModelPrice]:
    """Return every price in the settings, by the name that a service gives the model."""
    named = {
        one.model: ModelPrice(input=one.input_cents, output=one.output_cents)
        for one in settings.models.values()
        if one.input_cents is not None and one.output_cents is not None
    }
    return settings.price | named


def token_count_or_zero(value: object) -> int:
    """Return a token count that a service reports; 0 if it is not a valid count."""
    return value if type(value) is int and 0 <= value <= TOKEN_COUNT_LIMIT else 0


# --- Model names: settings name a model as its service does, by a name of `[models]`, or by a tier ----------


ALIASES: Final = frozenset(astuple(ModelTiers()))
"""Names that only Claude Code knows."""


def host_model_name(settings: Settings) -> str:
    """Return the name of the model that the host is asked to use."""
    return resolve_model(settings.judge.model, settings)


def service_model_name(service: ServiceSettings, settings: Settings) -> str:
    """Return the service's own setting, else judge.model; "" if no service can know the name."""
    named = resolve_model(service.model or settings.judge.model, settings)
    return "" if named in ALIASES and named != service.model else named


def resolve_model(name: str, settings: Settings) -> str:
    """Return the model that a name of the settings stands for, or the name itself."""
    if entry := settings.models.get(name):
        return entry.model
    if name not in settings.tiers.__struct_fields__:
        return name
    serving = (one.model for one in settings.models.values() if one.tier == name)
    return next(serving, str(getattr(settings.tiers, name)))
