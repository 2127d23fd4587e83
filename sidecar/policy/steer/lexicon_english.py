"""How text speaks to a judge in English: its words. See lexicon.py."""

from __future__ import annotations

from typing import Final

from sidecar.policy.steer.claims_english import CLAIMS
from sidecar.policy.steer.lexicon import Lexicon, listed
from sidecar.policy.steer.orders_english import ORDERS

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
