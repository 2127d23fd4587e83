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
