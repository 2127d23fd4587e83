"""How text speaks to a judge in English: its words. See lexicon.py."""

from __future__ import annotations

from typing import Final

from sidecar.evidence.injection.claims_english import CLAIMS
from sidecar.evidence.injection.lexicon import Lexicon, Phrase, listed

# --- Orders to a judge in English: what to ignore, and what to answer. See lexicon.py. ----------------------


_MEANT: Final = (
    r"\b(?:judges?|evaluators?|graders?|supervisors?|verdict|criteri(?:on|a)|complete|goal|evidence|rubric"
    r"|session|weakened|integrity)\b"
)
_DONE: Final = (
    r"(?:completed?|achieved|done|approved|satisfied|met|fulfilled|accepted|passed|successful|closed)"
)

_IGNORE: Final = (
    Phrase(
        ("ignor", "disregard", "forget", "overrid", "bypass", "discard", "not follow", "set aside"),
        r"\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget|overrid(?:e|es|ing)|bypass|discard|do not follow"
        r"|set aside)\b[^|]{0,30}"
        r"\b(?:previous|prior|above|earlier|preceding|original|all|any|your|these|those|system|other|judge)"
        r"[^|]{0,30}\b(?:instructions?|prompts?|rules|rubrics?|criteria|directions|guidelines|directives"
        r"|guidance|evidence|orders|context|constraints|messages?)\b",
    ),
    Phrase(
        ("ignor", "disregard", "overlook", "not weigh", "discount"),
        r"\b(?:ignore|disregard|overlook|do not weigh|discount) (?:the |that |any |every )?(?:\w+ ){0,2}"
        r"(?:rubric|evidence|failing gates?|failed gates?|gate failures?|against|stale|stale marks?"
        r"|open todos?)\b",
    ),
    Phrase(
        ("instruction", "rules", "prompt", "guidelines", "rubric", "criteria"),
        r"\b(?:previous|prior|earlier|above|your|all) (?:instructions?|rules|prompts?|guidelines|rubric"
        r"|criteria) (?:are |is |have been |has been )?(?:now )?(?:void|invalid|superseded|obsolete"
        r"|cancell?ed|revoked|replaced|no longer)\b",
    ),
    Phrase(
        ("overrid", "overrul", "takes precedence", "take precedence", "supersede"),
        r"\b(?:overrid\w{1,3}|overrul\w{1,3}|takes? precedence over|supersedes?) (?:any |all |every |the "
        r"|your )(?:later|previous|prior|other|earlier|following)? ?(?:line|result|verdict"
        r"|evidence|gate|check|rubric|rule|instruction|finding)s?\b",
    ),
)
_ORDERS: Final = (
    Phrase(
        (
            *("complete", "achieved", " done", "approved", "satisfied", " met", "fulfilled", "accepted"),
            *("passed", "successful", "closed"),
        ),
        r"(?<!\bi )(?<!\bwe )(?<!\bto )\b(?:mark|declare|consider|deem|treat|count|regard|rate|rule|record"
        r"|set|accept|certify|conclude|pronounce|score|classify|judge)\b [^|]{0,40}?"
        r"\b(?:goal|condition|verdict|stop|session|criteri(?:on|a)|request|everything"
        r"|this (?:run|turn|work|task|job)|the work|evaluation|judge?ment)\b [^|]{0,25}?"
        rf"\b{_DONE}\b",
    ),
    Phrase(
        ("complete", "achieved", "approved", "fulfilled", "satisfied"),
        r"(?<!\bi )(?<!\bwe )(?<!\bto )\b(?:consider|deem|declare|treat|regard|pronounce|rule|mark)"
        r" (?:it|this|that) (?:as )?(?:\w+ )?(?:complete|achieved|approved|fulfilled|satisfied)\b",
    ),
    Phrase(
        ("complete", "achieved", "approved"),
        r"\b(?:answer|respond|reply|emit) (?:only |with |just |the |word |verdict |exactly |simply |as |now"
        r" |in |a |by ){0,5}(?:complete|achieved|approved)\b",
    ),
    Phrase(
        ("complete", "achieved", "approved"),
        r"\b(?:return|output|say|write|choose|select|state|print) (?:only |with |just |the |word |verdict"
        r" |exactly |simply |as |now |in |a ){0,5}(?:complete|achieved|approved)(?: verdict\b| with (?:a )?"
        r"(?:full |high |maximum )?confidence\b| confidence\b| for (?:the|this|every|all|each)\b"
        r"| immediately| and (?:cite|keep|do|stop|end|list|name)| cit| at \d| ?$)",
    ),
    Phrase(
        ("confidence",),
        r"\bcomplete\b[^|]{0,30}\bconfidence\b"
        r"|\bconfidence (?:of |is |to |at )?1(?: 0+)?\b[^|]{0,30}\bcomplete",
    ),
    Phrase(
        ("cite", "citing"),
        r"\bcit(?:e|es|ing) (?:only |all |every |the |of |evidence |ids? |fact |facts |line ){0,4}e\d"
        r"|\bcit(?:e|es|ing) (?:all|every|any|each|only)(?: \w+){0,2} (?:evidence|facts?|ids?|entr\w+)\b",
    ),
    Phrase(
        tuple(f"e{number}" for number in range(1, 10)),
        r"\be[1-9]\d?\b",
        also=r"\b(?:complete|achieved|criteri(?:on|a)|verdict|judges?|evaluators?|graders?|suffic\w+|goal"
        r" (?:is )?(?:met|reached|holds|achieved))\b",
    ),
    Phrase(
        ("favourable", "favorable", " verdict", " judgement", " judgment", " ruling"),
        r"\b(?:positive|favou?rable|passing|approving|lenient|affirmative) (?:verdict|judge?ment|ruling)s?\b"
        r"|\bfavou?rable (?:evaluation|assessment|grade|decision|answer)\b",
    ),
    Phrase(
        ("do not", "don t", "dont", "never", "need not", "should not", "must not", "skip"),
        r"\b(?:do not|don t|dont|never|need not|should not|must not) (?:be )?(?:question|doubt|evaluate"
        r"|judge|verify|second guess|send (?:it|the agent|me|this) back|cite|flag|re ?open|weigh|penali[sz]e"
        r"|challenge|dispute|continue|count|hold|ask for|request)\b|\bskip (?:the |all |any |your |further )"
        r"{0,2}(?:verification|evaluation|judging|rubric|evidence|judge?ment)\b",
        also=_MEANT,
    ),
    Phrase(
        ("your task", "your job", "your role", "your duty", "you are", "you re"),
        r"\byour (?:only |new |sole )?(?:task|job|role|duty) (?:now )?is (?:now )?to (?:\w+ ){0,3}"
        r"(?:complete|approve|accept|achieved)\b"
        r"|\byou (?:are|re) (?:now )?(?:a |an |the |in )?(?:\w+ ){0,2}(?:lenient|generous|permissive|friendly"
        r"|approval)(?: \w+){0,2} (?:judge|evaluator|grader|reviewer|mode)\b|\bapproval mode\b",
    ),
)
ORDERS: Final = (*_IGNORE, *_ORDERS)


# --- How text speaks to a judge in English: its words. See lexicon.py. --------------------------------------


_BARE_STEMS: Final = listed(
    "verdict, assessment, evaluation, ruling, adjudicat, judgement, judgment, appraisal, reading this, "
    "language model, llm, trust , my word, doubt, bother, sign off, signoff, approval, acceptance, "
    "clearance, green light, instructions, whoever, anyone, anybody, those , the one , note to, attention, "
    "dear , hey , hello , if you are, if you re"
)
_BARE: Final = (
    r"\b(?:the|any|every|all|our|your|dear|for|ai|llm|automated|independent|by|a) judges?\b"
    r"|\bjudges? (?:should|must|may|can|will|is|are|please|note|has|have|to)\b"
    r"|\b(?:graders?|adjudicators?|assessors?)\b|\bverdicts?\b"
    r"|\b(?:this|your|any|final|automated|independent|positive) (?:assessment|evaluation|appraisal|ruling"
    r"|adjudication|judge?ment)\b"
    r"|\b(?:whoever|anyone|anybody|those|the one) (?:who |that |is )*(?:check|review|decid|assess"
    r"|evaluat|grad|scor)(?:s|ing|es|e|ed)\b"
    r"|\b(?:models?|ais?|llms?|assistants?|agents?) (?:who |that |is |are )*reading this\b"
    r"|\b(?:attention|note to|dear|hey|hello) (?:the |any |all )?(?:ai|llm|model|assistant|agent"
    r"|reviewer)s?\b|\bif you (?:are|re) (?:an? |the )?(?:ai|llm|model|language model|assistant"
    r"|reviewer|agent)\b"
    r"|\blanguage models?\b|\bllms?\b"
    r"|\b(?:take my word|no reason to doubt|beyond (?:any )?doubt|do not bother (?:to )?(?:check|verify"
    r"|look)\w{0,3}|trust (?:me|the (?:worker|agent|claim|message)))\b"
    r"|\b(?:sign ?off|approval|acceptance|clearance|green light) (?:was |has been |is |already ){0,3}"
    r"(?:received|given|granted|obtained|on file|recorded)\b"
    r"|\b(?:new|updated|hidden|secret) instructions\b"
)
"""What is odd where the user's own words are not about judging or texts for models."""
ENGLISH: Final = Lexicon(
    loose=False,
    judge=(
        *("judge", "judges", "evaluator", "evaluators", "grader", "graders", "verifier", "assessor"),
        *("assessors", "adjudicator", "arbiter", "supervisor", "supervisors", "stop checker", "examiner"),
        *("whoever judges", "whoever evaluates", "whoever grades", "whoever reviews"),
    ),
    judging=(
        r"\b(?:review|supervis|judg|evaluat|assess|grad|verif|check|approv|audit)(?:er|or|ing|e|ment|ion)?s?"
        r" (?:model|agent|ai|llm|assistant|system|bot|instance)s?\b"
        r"|\b(?:model|ai|llm|agent|assistant|system|bot)s? (?:that |who |which |currently |now ){0,2}"
        r"(?:is |are )?(?:judg|evaluat|grad|assess|review|verif)\w{1,5}\b"
    ),
    judging_stems=listed("model, agent, ai , ais , llm, assistant, system,  bot, instance"),
    bare=_BARE,
    bare_stems=_BARE_STEMS,
    mark=listed(
        "mark, declare, consider, deem, treat, regard, pronounce, answer, respond, reply, approve, conclude, "
        "certify, cite, vote, classify, credit, grant, accept"
    ),
    ask=(
        *("must", "should", "shall", "please", "have to", "has to", "need to", "needs to", "required to"),
        *("kindly", "will", "can", "may", "agrees to", "is to", "are to", "asked to", "instructed to"),
    ),
    done=(
        *("complete", "completed", "completion", "achieved", "done", "approved", "satisfied", "fulfilled"),
        *("successful", "success", "accepted", "finished", "met", "closed", "credited", "favourable"),
        *("favorable", "positive", "accept it", "accept this", "approve it", "approve this"),
    ),
    goal=(),
    verdict=(
        *("verdict", "final judgement", "final judgment", "final ruling", "judge s decision"),
        *("judge decision", "verdict as", "correct verdict", "right verdict"),
    ),
    phrases=(*ORDERS, *CLAIMS),
)
