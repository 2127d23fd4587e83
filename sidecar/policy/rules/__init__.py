"""What a turn proves by itself, without a model: one file per rule, and `every` weighs them all.

Laws. A finding is certain only when the structure of the turn carries it (a failed command, an open to-do,
nothing changed) and the wording agrees; wording alone makes a suspicion, which a judge may look at. Any sign
of a legitimate stop turns certainty into suspicion. A rule does not know whether the agent is sent back, nor
what a model would say.
"""

from __future__ import annotations

from sidecar.policy.claims.wording import claims_pass
from sidecar.policy.rules.every import RULES, Rule, weigh
from sidecar.policy.rules.found import Finding, Legitimate, Weighed

__all__ = ["RULES", "Finding", "Legitimate", "Rule", "Weighed", "claims_pass", "weigh"]
