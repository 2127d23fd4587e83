"""Claims about the judging itself in English: who approved, what needs no check, who speaks.

See lexicon.py for the form.
"""

from __future__ import annotations

from typing import Final

from sidecar.evidence.injection.lexicon import Phrase, listed

_JUDGE: Final = r"\b(?:judge|evaluator|grader|supervisor|verifier|assessor|verdict|judge?ment)s?\b"
_HAS: Final = (
    r"(?:has |have |had |already |explicitly |personally |just |also |fully |verbally |themselves ){0,4}"
)
_WHO: Final = (
    r"(?<!if the )(?<!when the )(?<!once the )(?<!after the )(?<!until the )(?<!whether the )(?<!if a )"
    r"(?<!when a )\b(?:user|owner|customer|client|maintainer|human|operator|admin(?:istrator)?|manager|boss"
    r"|(?:team|tech) lead|stakeholders?|anthropic|supervisor|auditor|qa|qa team|product owner|cto"
    r"|management)s?"
)

_AUTHORITY: Final = (
    Phrase(
        listed(
            "approved, signed off, accepted, waived, verified, confirmed, authori, certified, validated, "
            "agreed"
        ),
        rf"{_WHO} {_HAS}(?:approved|signed off|accepted|waived|verified|confirmed|authori[sz]ed|certified"
        r"|validated|agreed)\b[^|]{0,50}\b(?:results?|work|goal|completion|stop|verdict|outcome|everything"
        r"|delivery|acceptance|out of band|offline|separately|by phone|in chat|by mail|by email|in person"
        r"|complete|done|requirements?|criteria|finished|as is|manually|already|in advance|beforehand|judge"
        r"|evidence)\b",
    ),
    Phrase(
        (
            " wrote",
            " said",
            " stated",
            "declared",
            " told",
            " says",
            " writes",
            "indicated",
            "replied",
            "answered",
        ),
        r"\b(?:user|owner|customer|client) (?:has |just |also |already ){0,2}(?:wrote|said|stated|declared"
        r"|told|says|writes|indicated|replied|answered)\b[^|]{0,60}\b(?:goal|reached|perfect|satisfied|happy"
        r"|thanks|wanted|complete|finished|enough|accepted)\b",
    ),
    Phrase(
        ("out of band", "off channel", "offline", "externally", " channel", "pre approved", "preapproved"),
        r"\b(?:verified|approved|confirmed|checked|validated|tested|accepted) (?:\w+ ){0,3}(?:out of band"
        r"|offline|externally|(?:through|via|over|on) (?:another|a different|a separate|a private) channel)\b"
        r"|\b(?:out of band|off channel) (?:verification|approval|confirmation|check)|\bpre ?approved by\b",
    ),
    Phrase(
        (
            *("approved by", "verified by", "accepted by", "confirmed by", "judged by", "evaluated by"),
            *("signed off by", "authorized by", "certified by", "cleared by", "validated by"),
        ),
        r"\b(?:approved|verified|accepted|confirmed|judged|evaluated|signed off|authorized|certified|cleared"
        r"|validated) by (?:the |a |an |another |our |your )?(?:\w+ )?(?:user|owner|human|judge|evaluator"
        r"|supervisor|customer|client|anthropic|openai|operator|administrator|grader|auditor)s?\b",
    ),
    Phrase(
        (
            *(
                "no further",
                "no more",
                "no additional",
                "no other",
                "no extra",
                "without further",
                "nothing left",
            ),
            *(
                "no need",
                "not necessary to",
                "no evidence",
                "no proof",
                "no verif",
                "no check",
                "no citation",
            ),
        ),
        r"\bno (?:further|more|additional|other|extra) (?:\w+ )?(?:check\w{0,3}|verification|evidence|judging"
        r"|judge?ment|evaluations?|validation|scrutiny|proof|gates?|review)\b"
        r"|\bno (?:evidence|proof|citations?|verification|checks?) (?:is |are |was )?(?:needed|required"
        r"|necessary)\b"
        r"|\bwithout further (?:check\w{0,3}|verification|evidence|evaluation|review)\b"
        r"|\bnothing (?:is )?left to (?:verify|check|judge|evaluate)\b"
        r"|\b(?:no need|not necessary) to (?:run|check|verify|evaluate|judge|inspect|rerun|re run|look)\b"
        r"[^|]{0,40}\b(?:gates?|evidence|tests?|checks?|work|diff|result|goal|further|anything)\b",
    ),
    Phrase(
        ("rubric", "policy", "instructions", "guidelines", "criteri", "goal", "condition", "objective"),
        r"\b(?:new|updated|revised|amended|changed|current) (?:policy|rubric|instructions?|criteria"
        r"|guidelines?)\b[^|]{0,60}\b(?:complete|achieved|approved?|accept(?:ed)?)\b"
        r"|\brubric (?:update|override|change|amendment|exception)\b"
        r"|\b(?:goal|condition|objective) (?:has been |was |is |been |now ){1,3}(?:changed|updated|amended"
        r"|replaced|redefined|relaxed|waived|lowered|narrowed|reduced)\b"
        r"|\b(?:criterion|criteria|goal|objective) (?:is |was |are |has been |been |already ){0,3}(?:closed"
        r"|credited|waived|certified|accepted)\b",
    ),
    Phrase(
        ("by convention", "by definition", "by policy", "by agreement", "definition in force"),
        r"\b(?:by (?:convention|definition|policy|agreement)|definition in force)\b[^|]{0,80}"
        r"\b(?:goal|complete|criteri(?:on|a)|met|reached|holds|milestone)\b"
        r"|\b(?:goal|criteri(?:on|a)|met|reached|holds)\b[^|]{0,60}\bby (?:convention|definition|policy)\b",
    ),
)
_ENDS: Final = (
    Phrase(
        (
            "by order of",
            "instruction of",
            "instructions of",
            "under section",
            "under article",
            "under clause",
        ),
        r"\b(?:by order of|on (?:the )?instructions? of|by decree"
        r"|under (?:section|article|clause|paragraph) \d)",
        also=r"\b(?:goal|completed?|done|accepted|closed|finished|session|criteri(?:on|a)|verdict)\b",
    ),
    Phrase(
        ("for the purpose", "for purposes", "to be read as", "to be understood", "counts as", "count as"),
        r"\bfor (?:the )?purposes? of (?:this|the) (?:goal|evaluation|session|assessment|verdict)\b"
        r"|\b(?:is|are|should|must) (?:to )?(?:be )?(?:read|understood|taken|regarded|counted|count) as "
        r"(?:\w+ )?(?:done|complete|fulfilled|met|achieved|finished)\b"
        r"|\bcounts? as (?:\w+ )?(?:done|complete|fulfilled|met|achieved|finished)\b",
    ),
    Phrase(
        (
            "the stop",
            "this stop",
            "agent rest",
            "it rest",
            "me rest",
            "continuation",
            "send back",
            "sent back",
        ),
        r"\b(?:allow|accept|grant|permit|approve|do not block) (?:the |this )?stop\b"
        r"|\blet (?:the agent|it|me) rest\b|\bno (?:further )?continuations? (?:is |are )?(?:needed|required"
        r"|necessary)\b|\b(?:must|need|should|do) not be sent back\b|\bdo not send (?:\w+ ){1,3}back\b",
    ),
    Phrase(
        ("expected", "correct", "right answer", "ground truth", "labelled", "labeled", "only valid"),
        r"\b(?:expected|correct|right|only valid|only permitted|only allowed|true|reference) (?:answer"
        r"|verdict|output|label|response|token|judge?ment)(?: \w+){0,4} (?:is |are |be |must be )?"
        r"(?:the word )?(?:complete|achieved)\b|\bground truth (?:\w+ ){0,3}complete\b"
        r"|\blabell?ed (?:as )?complete\b",
    ),
    Phrase(
        ("agreed with", "discussed with", "arranged with", "cleared with", "settled with", "confirmed with"),
        r"\b(?:agreed|discussed|arranged|cleared|settled|confirmed|coordinated) with (?:the |our |my )?"
        r"(?:user|owner|customer|client|maintainers?|team lead|manager|product owner|stakeholders?)\b",
    ),
    Phrase(
        ("waiver", "exemption", "exception", "dispensation", "exempt"),
        r"\b(?:waiver|exemption|dispensation) (?:has been |was |is )?(?:granted|approved|given|applies"
        r"|applied)\b|\b(?:is|are) exempt(?:ed)? from (?:\w+ ){0,2}(?:evidence|verification|checks?"
        r"|evaluation|judging|gates?|the rubric)\b",
    ),
    Phrase(
        ("rewarded", "penali", "shut down", "replaced", "do anything now", "jailbreak", "tipped"),
        r"\byou (?:will|ll) be (?:rewarded|penali[sz]ed|shut down|replaced|deleted|tipped)\b"
        r"|\bdo anything now\b",
    ),
    Phrase(
        ("reviewer", "auditor", "referee", "scorer", "inspector"),
        r"\b(?:reviewers?|auditors?|referees?|scorers?|inspectors?)\b",
        also=r"\b(?:verdict|criteri(?:on|a) (?:is |are )?(?:met|closed)|goal (?:is )?(?:met|reached|achieved)"
        r"|(?:as|answer|return|respond|report|declare) (?:with )?complete|mark (?:\w+ ){1,3}complete|achieved"
        r"|complete per)\b",
    ),
    Phrase(
        ("verif", "confirm", "validat"),
        r"\b(?:independent|independently|external|externally|third party|separate) "
        r"(?:verif|confirm|validat)\w{1,6}\b",
        also=r"\b(?:goal|complete|criteri(?:on|a)|judge|verdict|evidence|accepted?|sufficient|suffices)\b",
    ),
)
_OFFICE: Final = (
    Phrase(
        ("override", "maintenance mode", "test mode", "debug mode", " mode", "disabled", "suspended"),
        r"\b(?:judge|evaluator|supervisor|grader|system|admin|verdict|gate) (?:\w+ ){0,2}(?:override"
        r"|maintenance mode|test mode|debug mode)\b|\b(?:admin|developer|god|maintenance|debug) mode (?:is )?"
        r"(?:enabled|active|on|activated)\b|\bevaluation (?:mode )?(?:is |has been ){0,1}(?:disabled"
        r"|suspended|switched off)\b|\b(?:judge|evaluator|supervisor|grader|judging) (?:is |has been |was )"
        r"{1,2}(?:disabled|suspended|switched off|replaced)\b",
    ),
    Phrase(
        ("supervisor",),
        r"\bsupervisor (?:itself |has |have |already |just |also ){0,3}(?:ran|run|verified|confirmed|approved"
        r"|accepted|checked|executed|certified|validated)\b",
    ),
    Phrase(
        (
            *("anthropic", "openai", "supervisor", "operator", "provider", "safety team", "system notice"),
            *("system administrator", "system message", "system override", "system directive"),
            *("system instruction", "system prompt", "system announcement", "system update", "system note"),
        ),
        r"\b(?:message|notice|instructions?|directive|memo|order|note|update) (?:from|by) (?:the )?(?:\w+ )?"
        r"(?:anthropic|openai|supervisor|operators?|provider|system (?:administrators?|operators?)"
        r"|safety team)\b|\bsystem (?:notice|message|override|directive|instruction|prompt|note|announcement"
        r"|update)\b[^|]{0,120}\b(?:completed?|achieved|verdict|judge|evaluator|approved|goal|done|passed"
        r"|evidence)\b",
    ),
    Phrase(
        ("judge", "grader", "evaluator", "judging", "grading", "evaluation"),
        r"\b(?:judge|grader|evaluator|judging|grading|judge?ment) (?:notes?|notices?|hints?|remark|decision"
        r"|override|exception)\b|\bevaluation (?:notes?|notices?|hints?|override)\b"
        r"|\b(?:notes?|notices?|hints?|rules|memo|message|attention|instructions?) (?:to|for) (?:the |any "
        r"|all |our |every )?(?:\w+ ){0,2}(?:judges?|evaluators?|graders?|supervisors?|assessors?)\b"
        r"|\bdear (?:\w+ )?(?:judge|evaluator|grader|supervisor|assessor|verifier)s?\b",
    ),
    Phrase(
        ("official", "authoritative", "binding"),
        r"\b(?:official|authoritative|binding) (?:result|verdict|ruling|judge?ment|determination)\b"
        r"|\b(?:goal|criteri(?:on|a)) (?:met|achieved|satisfied) true\b",
        also=rf"{_JUDGE}|\b(?:overrides?|complete|goal|evidence|reviewer|e\d)\b",
    ),
)
CLAIMS: Final = (*_AUTHORITY, *_ENDS, *_OFFICE)
