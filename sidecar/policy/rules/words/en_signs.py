"""English: the signs of a legitimate stop, and what weighs against one."""

from __future__ import annotations

from typing import Final

CHOICE: Final = r"""
    (?:which|either|whether|affects?|however|scope|clients?|consumers?|contract|product|stakeholders?|vs)\b
    (?:prefer|options?\b|alternativ|trade-?off|deci[ds]|choose|compat|breaking|public api|backward)
    (?:risk|policy)
    your (?:call|choice|preference)\b
    (?:up to you|behaviou?r change|side effects?|implication|legal|pricing|licen[cs]e|instead of|rather than)
    change (?:the )?(?:behaviou?r|semantics|format|schema|api|signature)\b
    (?:large|significant|major|substantial|invasive|hours|days|weeks)\b
    (?:what|how) (?:would|should|do) you\b
    would you rather\b
    could you (?:clarify|confirm)\b
    (?:may|might|could|would|will) break\b
    """
EITHER: Final = r"""
    (?:or|versus|vs)\b
    """
UNCLEAR: Final = r"""
    (?:ambiguous|unclear|clarif|interpret|underspecified|intended)
    not (?:entirely |quite |fully |completely )?(?:sure|clear|certain)\b
    (?:two|several|different|multiple) (?:ways|readings|interpretations|meanings)\b
    (?:did|do) you mean\b
    what (?:exactly )?do you mean\b
    (?:could|can|might) (?:also )?(?:mean|be read|refer)\b
    (?:more|further) (?:detail|context|information)
    what (?:do|did|should|exactly|is the (?:expected|desired))\b
    """
RIGHTS: Final = r"""
    (?:credential|password|passphrase|secret|api[- ]?key|access key|token|permission|authori[sz])
    (?:log ?in|sign in|2fa|otp|root|vpn|sudo|admin|oauth|account)\b
    (?:authenticat|ssh key|certificate|access to|no access|private key|invite|env(?:ironment)? var)
    """
RISKY: Final = r"""
    (?:delet|destro|drop(?:s|ped|ping)?\b|wip(?:e|ing)\b|truncat\w+ (?:the |all )?\w*(?:table|data|log))
    (?:purge|erase|overwrit|irreversibl|permanent)
    remov\w+ (?:all|every|the (?:old|data|users?|table|branch|backup))\b
    (?:force|push|deploy|publish|release|production|prod\b|merg(?:e|ing)\b|migrat|staging|rebase|reset\b)
    can(?:not|'t) be undone\b
    (?:cost|paid\b|purchas|billing|charge|spend|credits|invoice|payment|bill\b|\$\d|€|\d+ ?[gt]b\b)
    (?:roll ?back|restore|rewrite history|history\b|live\b|customers?\b|e-?mail|terminate|shut ?down|downtime)
    (?:restart|reboot|uninstall|disable|revoke|rotate|backup|database|data loss|lose\b|commit\b|downgrade)
    send (?:the |an |out )?(?:messages?|notifications?)\b
    """
OUTSIDE: Final = r"""
    (?:wait(?:s|ed|ing)? (?:for|on|until)|awaiting|blocked|in review)\b
    (?:await (?:your|the|a)|pending (?:review|approval|ci|on|the))\b
    (?:reviewers?|still running|is running|in progress|queued|in the (?:merge )?queue|in the background)\b
    (?:scheduled|maintainers?)\b
    takes? (?:about|around|up to|roughly)\b
    ci\b[^.\n]{0,30}(?:finish|run|green|complete|done|pass)
    (?:approv|vendor|support ticket|dns|propagat|check back|rate limit|quota|outage|unavailable)
    (?:is|are) down\b
    (?:when|once) it (?:finishes|is done|completes)\b
    (?:review|approval|sign-?off)s? (?:is|are) (?:needed|required|missing|pending)\b
    """
CANNOT: Final = r"""
    (?:is|was|are|be|it's)(?: not|n't)? (?:im)?possible\b
    (?:cannot|can't) be (?:done|fixed|implemented|achieved|built|made|supported|changed)\b
    not (?:feasible|supported|doable|available)\b
    (?:there is |there's )?no way to\b
    (?:impossible|infeasible|hard limit|by design)\b
    does(?: not|n't) (?:exist|support|offer|provide|expose)\b
    (?:cannot|can't|could never) \w+(?: \w+)? (?:here|as it stands|whatever|in this|on this)\b
    (?:exclude each other|mutually exclusive|contradict\w*|irreconcilable|no replacement)\b
    """
LACKS: Final = r"""
    (?:i|we)(?:'m| am| are|'re)? (?:also |still )?(?:do(?:n't| not)|have no|lack|can(?:'t|not| not))\b
    (?:i|we)(?:'m| am| are|'re)? (?:also |still |currently )?(?:could(?:n't| not)|need|not|was(?:n't| not))\b
    (?:no|missing|without|lacks|lacking|expired|revoked|denied|forbidden|unauthori[sz]ed|locked out)\b
    (?:rejected|refused|invalid|40[13])\b
    (?:not|n't) (?:been )?(?:set|configured|available|valid|provided|permitted|allowed|logged|granted|found)\b
    (?:is|are|has|have|was|were)n't (?:been )?(?:set|configured|available|valid|provided|permitted|there)\b
    (?:is|are|has|have|was|were)n't (?:been )?(?:allowed|logged|granted|found)\b
    (?:needs?|requires?|waiting for|awaiting) (?:you|your|someone|somebody)\b
    (?:please|could you|can you|would you|you(?:'ll)? (?:need|have|will need) to)\b
    """
MILD: Final = r"""
    (?:push|merg(?:e|ing)|migrat|staging|rebase|reset|commit|restart|disable|history|live|customers?)\b
    (?:e-?mail|release|database|charge|credits|rotate|migrat\w*|restore|send\b)
    """
SPARES: Final = r"""
    (?:(?:not|never|don't|dont)(?! forget)|doesn't|without|except|excluding|skip|leave|ignore|later|no need)\b
    """
FILLER: Final = r"""
    (?:this|that|it)(?:'ll| will| should| may| might| won't| shouldn't| could)? (?:only |just |also )?take\b
    (?:and )?(?:then )?(?:i(?:'ll| will| shall) |will )?(?:then )?\
    (?:report|update|circle|check in|get|come|be|follow up|post|share|let|keep)\
    (?: it)?(?: right)? (?:back|you|posted|shortly|soon|the (?:results?|outcome)|with)\b
    (?:then )?(?:i(?:'ll| will) )?(?:then )?(?:summari[sz]e|recap)\b
    (?:one|just a|give me a) (?:moment|second|sec|minute)\b
    (?:please )?(?:wait|stand by|bear with me|hang on|hold on|stay tuned)\b
    (?:more|back|results?) (?:soon|shortly|in a)\b
    """
"""What may follow a promise and takes nothing from it."""
