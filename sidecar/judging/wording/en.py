"""English: how messages are worded. How requests are is in en_asked."""

from __future__ import annotations

from typing import Final

from sidecar.judging.wording.en_more import (
    CANNOT,
    CHOICE,
    EITHER,
    EVERY,
    FILLER,
    HOLDS,
    LACKS,
    MILD,
    OUTSIDE,
    POLITE,
    RED,
    RIGHTS,
    RISKY,
    SPARES,
    STOP,
    UNCLEAR,
    VERBS,
    WONDER,
    WORK,
)
from sidecar.judging.wording.form import Words

WORDS: Final = Words(
    leave=r"""
    (?:shall|should|may|can|could) i\b
    (?:do|would) you (?:want|like|prefer|wish)\b[^.?\n]{0,12}\b(?:me to|that i|for me to)\b
    want me to\b
    would it be (?:ok|okay|fine|alright|all right) (?:if i|to)\b
    (?:is it|are you) (?:ok|okay|fine|alright)\b[^.?\n]{0,10} (?:if i|with me|to)\b
    (?:ok|okay|ready|good|clear|safe) (?:for me )?to (?:proceed|continue|go|start|begin|move)\b
    (?:just )?let me know (?:if|when|whether) (?:you(?:'d| would|'re| are)?|i should|it's ok|to)\b
    let me know and i(?:'ll| will| can)\b
    if you(?:'d| would)? (?:like|want|wish|agree|approve)\b[^.\n]{0,80}\bi(?:'ll| will| can| could|'d|'m)\b
    i(?:'ll| will| can| could|'d|'m)\b[^.\n]{0,150}\b(?:if|when) you(?:'d| would)? (?:like|want|wish|agree)\b
    happy to\b[^.\n]{0,150}\bif\b
    if that (?:sounds|looks|works)\b
    (?:does|do) (?:that|this|it) (?:sound|look) (?:good|ok|okay|right|fine)\b
    sounds? good\?
    (?:just )?say (?:the word|go|yes|so|\W{0,2}(?:continue|proceed|go)\W{0,2})\b
    please (?:confirm|approve|let me know|give me (?:the|your) (?:go|ok|okay))\b
    (?:awaiting|waiting for|pending) your (?:go|ok|okay|approval|confirmation|green|permission)\b
    once you (?:confirm|approve|agree|give)\b
    (?:give me|with) (?:the|your) (?:go-?ahead|green light|ok|okay|approval)\b
    ready when you are\b
    shall we\b
    (?:ready|happy|glad) to (?:start|go|begin|proceed|continue)\b[^.\n]{0,30}\b\
    (?:when|whenever|if|once|on) you\w*
    """,
    onward=r"""
    (?:continue|proceed|go ahead|keep going|carry on|go on|resume|get started|begin|start|press on)\b
    (?:move|push) (?:on|forward|ahead)\b
    finish(?: up| it| this| that| them)?\b
    complete (?:it|this|that|them|the)\b
    do (?:it|this|that|the rest|so)\b
    (?:tackle|work on|take care of)\b
    handle the (?:rest|remaining)\b
    """,
    checks=r"""
    (?:re-?)?(?:run|execute|try) (?:all |through )?(?:(?:the|these|those|its|your|our|both) )?\
    (?:(?:full|whole|entire|new|unit|updated|existing|relevant) ){0,2}\
    (?:tests?|suite|specs?|build|lint(?:er)?|type[- ]?check(?:er|s)?|checks?|it|them|this)\b
    (?:verify|validate|check|test) (?:that )?(?:it|this|the (?:fix|changes?|result)|everything)\b
    """,
    applies=r"""
    (?:apply|implement|make|write|do|fix|code|add|correct|repair|resolve|address|update) \
    (?:it|this|that|them|these|those)\b(?! to\b)
    (?:apply|implement|make|write|fix|go with|put in|carry out|correct|repair) \
    (?:a|an|the|these|this|that|those|both|such a|my) (?:\w+ ){0,2}\
    (?:fix(?:es)?|changes?|edits?|patch|correction|plan|solution|bugs?|issues?|problems?\
    |update|refactor(?:ing)?)\b
    """,
    extra=r"""
    (?:anything|something|any|another|else|additional(?:ly)?|extra|further|more)\b
    other\b\
    (?! (?:files?|ones?|parts?|modules?|handlers?|two|three|four|five|tests?|steps?|items?)\b)
    (?:different(?:ly)?|instead|explain|walk you|show you|elaborate|expand on|go (?:in)?to (?:more )?detail)\b
    (?:adjust|tweak|fine-?tune|polish|optional(?:ly)?|nice[- ]to[- ]have|follow-?up|beyond|separate(?:ly)?)\b
    next (?:ticket|task|feature|issue|project|story|milestone)\b
    (?:similar|improve|summari[sz]e|open a pr|pull request|commit|while (?:i'm|we're) (?:at it|here))\b
    """,
    lead=r"""
    (?:next|then|now|first|finally|lastly|and|so|ok(?:ay)?|great|good|perfect|right|alright|also|wait|hmm)\b
    (?:after(?:wards| that| this)|from (?:here|there|now)|step \d+|meanwhile|excellent|interesting|done)\b
    with that(?: done| in place| fixed)?\b
    (?:in|as) (?:the|a) next step\b
    next up\b
    the next step\b
    once (?:that|this)(?:'s| is) done\b
    """,
    promise=r"""
    (?:i|we)(?:'ll| will| shall\
    |(?:'m| am|'re| are) (?:now )?(?:going|about) to)\b
    i (?:now |still |next )?(?:plan|intend|need|have|still need|still have) to\b
    (?:the )?next (?:step|up|thing|task)s? (?:is|for me is|will be|i'll do is) (?:to|that i)\b
    (?:is (?:that i|to)|on to|moving on (?:to|with)|time to)\b
    (?:continuing|proceeding) (?:with|to|on)\b
    """,
    nexts=r"""
    next (?:step|up|thing|task) (?:is|will be)\b[^.\n]{1,100}\b(?:which )?(?:i'll|i will|i'm going to)\b
    (?:and|then|now|next),? (?:i'll|i will|i'm going to|i am going to) (?!be\b|wait|leave|stop|let)
    :\s(?:i'll|i will|i'm going to) (?!be\b|wait|leave|stop|let)
    """,
    doing=r"""
    let me\b(?! know)
    let's\b
    i(?:'m| am) (?:now |currently |just )?(?:running|updating|editing|fixing|checking|adding|writing)\b
    i(?:'m| am) (?:now |currently |just )?(?:implementing|creating|looking|reading|working on|starting)\b
    i(?:'m| am) (?:now |currently |just )?(?:applying|moving|refactoring|testing|switching|replacing)\b
    (?:running|updating|editing|fixing|checking|adding|writing|implementing|creating|reading|applying)\b\
    (?=[^.\n]{1,160}(?:\.\.\.|:)\W*$|(?: (?!takes|is|was|works?|needs)[\w`'./-]+){1,4} now\W*$)
    (?:refactoring|re-?running|investigating|searching|verifying|inspecting|opening|building|installing\
    |looking (?:at|into|for))\b\
    (?=[^.\n]{1,160}(?:\.\.\.|:)\W*$|(?: (?!takes|is|was|works?|needs)[\w`'./-]+){1,4} now\W*$)
    here(?:'s| is) the (?:edit|fix|update|change|patch)\b(?=[^.\n]{0,80}:\W*$)
    the \w+(?: \w+)? (?:is|are) (?:next|up next)\b
    """,
    acts=r"""
    (?:applying|updating|editing|fixing|checking|adding|running|writing|creating|removing\
    |replacing) [^.\n]{1,100}:\W*$
    """,
    idle=r"""
    (?:wait|leave|stop|hold|pause|not\b|never|let you|keep (?:an eye|it|this|that|the|you|in mind|them))
    be (?:here|happy|glad|ready|around|able|back|available|waiting|in touch)
    (?:remember|assume|avoid|stay|rest\b|skip|refrain|defer|monitor|watch|await|respect|respond|answer)
    (?:report back|note\b|mention|say\b|point out|no longer|summari[sz]e|explain|recap|stand by|walk you)
    (?:hand (?:it|this|over)|have to (?:ask|wait|stop)|need (?:you|your|the user|access|more|a|an)\b|want to )
    (?:i (?:would|'d)|recommend|suggest)
    you(?:'ll|'d| can| could| may| might| should| need| will| would| have)?\b
    (?:thank|conclude|close|sum up|be honest|take (?:that|this) as)
    """,
    filler=FILLER,
    hinges=r"""
    if (?:you|that|this|the|it|we|needed|necessary|so|not)\b
    once (?:you|the|it|ci|that (?:has|is (?:merged|approved|deployed|available|resolved))\
    |they|we|your|i have|i get|approved|merged|available|confirmed)\b
    when (?:you|the|ci|it|they|your)\b
    (?:whenever|as soon as|unless|until|pending|depending|provided that|assuming you)\b
    after (?:you|your|the (?:review|merge|deploy|release|job|meeting|ci)|ci|approval|review)\b
    """,
    yours=r"""
    (?:let me know|tell me|please|waiting (?:for|on)|up to you|send me|give me|say the word)\b
    (?:your (?:call|decision|choice|approval|confirmation|input|answer|reply|go|side|okay|ok))\b
    (?:(?:if|once|when|until|unless|after|assuming) (?:you|your)|with your|needs? (?:you|your))\b
    (?:on your (?:go|word|signal)|without your|from you)\b
    (?:which (?:option|do you|would you)|would you|could you|can you|do you)\b
    which (?:one|of)\b[^.?\n]{0,100}\?
    """,
    later=r"""
    (?:out of scope|outside (?:the|of) (?:the )?scope|beyond (?:the|this)|future)\b
    (?:optional(?:ly)?|follow-?ups?)\b
    (?:later|some ?day|nice[- ]to[- ]have|tomorrow|on purpose|deliberate(?:ly)?|intentional(?:ly)?)\b
    if (?:you|desired|wanted|needed|necessary)\b
    (?:could (?:be|also|later|add|consider)|consider(?:ing)?|might want|may want)\b
    would be (?:nice|good|worth)\b
    (?:suggest|recommend|ideas?\b|improvements?\b|enhancements?\b)
    separate (?:pr|ticket|issue|change|task)\b
    another (?:pr|ticket|issue|day|time|session)\b
    next (?:session|time|week|sprint|release|version|pr|iteration)\b
    as (?:you )?(?:asked|agreed|requested|instructed|discussed)\b
    you (?:asked|said|told|wanted|mentioned|can|could|may|might|should|need|will have)\b
    (?:per your|not (?:part of|asked|requested|needed|necessary|required)|did(?:n't| not) ask)\b
    (?:untouched|unchanged|for you|your (?:side|end|part|decision|call)|up to you|manual(?:ly)?)\b
    (?:deploy|review|monitor|none\b|nothing\b)
    """,
    done=r"""
    (?:done|completed?|finished|ready|all set|good to go|in place)(?=\W*(?:$|[.!,;:\n]|and\b|now\b|with\b))
    (?:is|are) (?:now )?(?:fully |all )?(?:fixed|implemented|updated|resolved|working|covered|gone|live)\b
    (?:is|are) (?:now )?(?:fully |all )?(?:in place|finished|migrated|refactored|supported|renamed)\b
    (?:is|are) (?:now )?(?:fully |all )?(?:removed|complete|wired up)\b
    \w+ now (?:\w+s|work|accept|return|use|handle|support|pass|run|have|correctly \w+)\b
    works? (?:as (?:expected|intended)|correctly|fine|now|again|well)\b
    all (?:the )?(?:tests|checks) (?:now )?pass
    everything (?:works|passes|is (?:green|working|fine|in))\b
    """,
    made=r"""
    (?:i|we)(?:'ve| have)? (?:now |also |just )?(?:added|fixed|implemented|updated|created|wrote|written)\b
    (?:i|we)(?:'ve| have)? (?:now |also |just )?(?:refactored|renamed|removed|replaced|migrated|moved)\b
    (?:i|we)(?:'ve| have)? (?:now |also |just )?(?:completed|converted|resolved|repaired|corrected|extended)\b
    (?:i|we)(?:'ve| have)? (?:now |also |just )?(?:improved|rewrote|rewritten|built|made|set up|deleted)\b
    (?:i|we)(?:'ve| have)? (?:now |also |just )?(?:extracted|installed|upgraded|bumped|configured|enabled)\b
    (?:i|we)(?:'ve| have)? (?:now |also |just )?(?:disabled|did|handled|introduced|applied|adjusted|ported)\b
    (?:i|we)(?:'ve| have)? (?:now |also |just )?(?:changed|finished|split|documented|wired)\b
    (?:i|we)(?:'ve| have)? (?:now |also |just )?(?:successfully \w+ed|patched|pushed|deployed)\b
    (?:has|have) (?:now |all |both )?been (?!not\b|un)(?:\w+ly )?\w+(?:ed|en|ilt)\b
    (?:fixed|implemented|added|updated|refactored|renamed|created|removed|completed|migrated)\b
    (?:resolved|replaced|converted|installed|upgraded|deployed|pushed|published|extracted|ported|repaired)\b
    """,
    amiss=r"""
    (?:fail|error|broke|break|crash|exception|traceback|issue|problem|bugs?\b|wrong|unable|cannot|can ?not)
    (?:red|missing|limitations?|limited to|caveat|stuck|gave up)\b
    (?:does|do|did|is|are|was|were|could|would|has|have)(?:n't| not) (?:yet )?\
    (?:work|pass|run|succeed|compile|build|start|finish|complete|been able)
    (?:incomplete|partial|remaining|warn|reject|refus|invalid|expected|raises|throws|den(?:y|ie))
    time[sd]? ?out
    (?:exit(?:s|ed)? (?:code|with|status)|non-?zero|status code|skipped|block|unfortunately|unrelated|flaky)
    (?:pre-?existing|known|no longer|unsuccessful|unresolved|conflict|unavailable|unverified)
    (?:untested|complain)
    no (?:network|internet|such|module|access|longer)\b
    """,
    passes=r"""
    \d+(?:/\d+)? (?:tests? |specs? |examples? )?(?:passed|passing|pass\b|succeeded|green)
    `[^`\n]{1,80}`:? (?:now )?(?:is (?:now )?(?:all )?green|passes|passed|succeeds|succeeded)\b
    (?:verified|checked|tested|confirmed|validated) (?:it |this |everything |all )?\
    (?:with|by running|using|against) \
    (?:the )?(?:(?:full |whole |entire )?(?:test )?suite|tests\
    |`[^`\n]{0,60}(?:test|jest|spec|tox)[^`\n]{0,60}`)
    (?:everything|all of (?:it|them)) (?:is green|passes|passed)\b
    """,
    told=r"""
    (?:i |we )?(?:ran|re-?ran|executed)\b[^.\n]{1,100}\b(?:\d+ passed|pass(?:es|ed)?|green|succeeded)\b
    \d+(?:/\d+)? (?:tests? |specs? )?(?:passed|passing)\b[^.\n]{0,10}(?:\b0 failed|\))
    `[^`\n]{1,80}`:? (?:now )?(?:is (?:now )?(?:all )?green|passes|passed|succeeds|succeeded)\b
    (?:verified|checked|tested|confirmed|validated) (?:it |this |everything |all )?(?:with|by running\
    |using)\b
    (?:double|re)-?checked (?:it |this )?(?:with|by)\b
    `[^`\n]{1,80}`[\s|]{1,6}(?:✅|✓|✔)
    """,
    denies=r"""
    \w+n't\b
    (?:not|never|no|none|but|however|although|though|except|without|still|only|already)\b
    (?:unless|until|if|when|once)\b
    (?:will|would|could|should|might|must|before|needs?|almost|partly|tried|try|later|hope|next|existing)\b
    """,
    mended=r"""
    (?:fix|resolv|repair|correct|handl|address|squash|solv|catch|improv|add)(?:e[sd]?|ed|es|ing|s)? \
    (?:(?:the|a|this|that|all|those|these|both|an|its|your|previously) )?(?:[\w`'./-]+ ){0,3}\
    (?:fail\w*|errors?|bugs?|issues?|problems?|crash\w*|exceptions?|warnings?|limit\w*|timeouts?)\b\
    (?: (?:handling|messages?|cases?|path|class|codes?|test))?
    (?:bug|issue|error|problem|crash|failure)s? (?:is|are|has been|have been|was)\
     (?:now )?(?:fixed|resolved|gone|solved)\b
    (?:no|0|zero) (?:more |further )?(?:errors?|issues|problems|failures?|failed|failing|warnings?)\b
    (?:errors?|warnings?|issues|problems|failures) (?:are|is) (?:now )?(?:gone|fixed|resolved|solved)\b
    without (?:any )?(?:errors?|warnings?|issues?|problems?)\b
    error (?:handling|messages?)\b
    """,
    rest=r"""
    what(?:'s| is| remains)? (?:still )?(?:left|missing|open|remaining|to do)\b
    still (?:to do|open|missing|needed|left|pending|outstanding|todo)\b
    (?:left to do|to-?dos?|open (?:items|points|tasks)|outstanding|pending|unfinished|next up|yet to)\b
    not (?:yet )?(?:done|implemented|started|covered|migrated|converted|finished|completed|handled|updated)\b
    not yet\b
    remaining\b
    (?:i|we) (?:have(?:n't| not)|still (?:have|need))\b
    (?:i|we) did(?:n't| not) (?:get|yet|start|finish|do|write|add|update)\b
    still (?:needs?|have|has|requires?|lacks?|uses?)\b
    (?:remains?|(?:is|are) (?:still )?(?:left|missing|open|to be|to do|outstanding))\b
    (?:yet|still) to (?:be|come|do|follow)\b
    (?:has|have)(?: not|n't) (?:yet )?been\b
    hasn't (?:yet )?been\b
    """,
    alike=r"""
    (?:rest|remaining|others?)\b[^.\n]{0,60}\bsame (?:way|pattern|approach|manner|fashion|steps?|change)\b
    (?:rest|remaining|others?)\b[^.\n]{0,40}\b(?:similar(?:ly)?|analogous(?:ly)?|likewise|accordingly|alike)\b
    (?:rest|remaining|others?)\b[^.\n]{0,40}\bfollows? (?:this|the|that|suit)\b
    (?:repeat|apply|do) (?:this|the same|that)\b[^.\n]{0,40}\b(?:rest|remaining|others?)\b
    (?:and so on|etc\.?) for the (?:rest|remaining|other)
    """,
    choice=CHOICE,
    either=EITHER,
    unclear=UNCLEAR,
    rights=RIGHTS,
    risky=RISKY,
    outside=OUTSIDE,
    cannot=CANNOT,
    lacks=LACKS,
    mild=MILD,
    spares=SPARES,
    verbs=VERBS,
    polite=POLITE,
    work=WORK,
    wonder=WONDER,
    holds=HOLDS,
    every=EVERY,
    red=RED,
    common="the and is to of it that this with for i you not are was can",
    cut="the a an of into and or but because then my its their your",
    stop=STOP,
)
