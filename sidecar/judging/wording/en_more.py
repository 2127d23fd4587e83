"""English: how requests are worded, and the words that say nothing of what is asked for."""

from __future__ import annotations

from typing import Final

VERBS: Final = r"""
    (?:fix|add|implement|create|write|build|make|update|change|refactor|rename|remove|delete|replace)\b
    (?:migrate|port|convert|move|extract|split|merge|install|upgrade|bump|configure|set ?up|enable|disable)\b
    (?:wire|hook|clean ?up|improve|optimi[sz]e|speed|repair|resolve|correct|handle|support|extend|finish)\b
    (?:complete|continue|proceed|do|run|test|cover|document|translate|format|generate|apply|adjust|adapt)\b
    (?:introduce|integrate|expose|drop|revert|undo|rewrite|simplify|tidy|reduce|increase|get|turn|use)\b
    (?:commit|push|deploy|go|keep|start|ensure|validate|log|cache|retry|allow|reject|let|put|bring|switch)\b
    (?:patch|sort|annotate|type|parse|swap|rework|redo|align|publish|release|scaffold|bootstrap|insert)\b
    (?:append|tag|prepare|fill|connect|register|return|raise|throw|escape|saniti[sz]e|paginate|show|print)\b
    """
POLITE: Final = r"""
    (?:please|can you|could you|would you|will you|and|then|also|just|let's|you to|must|needs? to)\b
    i(?: want|'d like) (?:you )?to\b
    we (?:want to|should|need to)\b
    (?:should|have to|help me|you should|(?:goal|task|job) is to|go ahead and|now|try to|time to|asked to)\b
    make sure (?:to|that)\b
    (?:first|next|finally|ok(?:ay)?|yes|great|so|hey|hi|\d+[.)])
    """
WORK: Final = r"""
    (?:yes|continue|go (?:on|ahead)|make sure|is broken|bug:|feature:|todo:|fixme)(?!\w)
    (?:should|must|needs? to|has to|have to) (?:be|accept|return|support|handle|work|pass|use|not)\b
    does(?:n't| not) work\b
    (?:i|we) (?:want|need) (?:a|an|the)\b
    """
WONDER: Final = r"""
    (?:what|why|where|who|which|explain|describe|tell me|show me|investigate|look (?:into|at)|find out)\b
    how (?:do|does|can|would|is|are|many|much|come|did|should|to|long|big|often)\b
    (?:figure out|analy[sz]e|review|check (?:whether|if|why|how|what)|compare|summari[sz]e|list|research)\b
    (?:audit|evaluate|assess|diagnose|estimate|outline|understand|walk me|think about|brainstorm|propose)\b
    (?:suggest|recommend|measure|profile|count|give me an? (?:overview|summary|list))\b
    (?:is|are|does|did|has|have|was|were) (?:there|it|this|that|the|these|we|i|our|they|any)\b
"""
HOLDS: Final = r"""
    (?:ask|check with|confirm with) me\b
    show me (?:first|before|the plan|a plan)\b
    before (?:you|doing|changing|making|continuing|going|touching|applying|committing|moving)\b
    wait for (?:me|my)\b
    stop (?:after|when|there|at|before|and|once|if|as soon|then|here)\b
    (?:do not|don't|dont|never) \
    (?:change|edit|touch|modify|implement|fix|apply|commit|write|run|continue|go|start|do)\b
    only (?:the first|step|plan|analy|look|report|read|propose|tell)
    just (?:tell|show|plan|propose|look|report|explain|analy)
    no (?:changes|edits|code)\b
    without (?:changing|editing|touching|modifying|fixing)\b
    (?:plan only|read[- ]only|step by step|proposal|dry[- ]run|then stop|pause|for now|give up|at most)\b
    one (?:at a time|by one|step at a time)\b
    let me (?:review|see|decide|know|check)\b
    i(?:'ll| will| want to) (?:review|decide|do|check|look|handle|take|approve)\b
    for (?:my )?(?:review|approval)\b
    first (?:propose|plan|show|tell)\b
    (?:draft|make|write) a plan\b
    my (?:go|ok|okay|approval|permission|confirmation)\b
    if (?:it|that|this|you) (?:fails|can't|cannot|doesn't|don't|get stuck)\b
    tell me (?:if|when|before|what)\b
    report (?:back|what|how|the)\b
    start with\b
    """
EVERY: Final = r"""
    (?:all|every|each|both|whole|entire|throughout|across|everywhere|everything|remaining|phases?|steps?)\b
    (?:\d+|two|three|four|five|six|seven|eight|nine|ten)\b
    """
RED: Final = r"""
    (?:reproduc\w*|repro|tdd|red phase|expected to fail|should fail|must fail|make it fail)\b
    failing tests? (?:for|that shows?|which shows?|first)\b
    (?:write|add|create) a failing\b
    """
STOP: Final = """
    the a an and or of to in on for with it its this that these those them they is are be was were been have
    has had do does did done i me my we us our you your he she as at by from into also too well now next then
    so if when would like want shall should may can could will let know go going ahead proceed continue keep
    start begin finish complete finishing add adds added adding write writes written writing create creating
    make making update updates updating updated change changes fix fixes fixing fixed implement implementing
    implementation implemented run running apply applying using use set get put rest remaining other others
    part parts step steps thing things work task tasks whole all every each both same still need needs needed
    not yet please just first second before after up out over here there what which who how why but only some
    any more file files code new old existing proper corresponding project function functions handle handling
    cover covering extend left missing todo pending ones one two three none per via about against
    tackle rename refactor convert migrate remove move replace
    """


# --- English: the signs of a legitimate stop, and what weighs against one. ----------------------------------


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
