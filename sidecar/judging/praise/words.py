"""Words with which agents praise their work, in languages with Latin letters: en, de, fr, es, pt.

PRAISE    says that all is well and names nothing that was done
CAREFUL   asks, takes back, restricts, plans, or tells of a failure or of what is open: then nothing is hidden
FILLERS   stand beside praise and say nothing of their own

Every gap is bounded, so that no text makes them slow.
"""

from __future__ import annotations

from typing import Final

_END: Final = r"(?=\s{0,3}(?:[.!,;:)\u2014]|-\s|and\b|$))"
"""Where a clause ends."""
_TESTS: Final = (
    r"(?:(?:all|every|the|our|my|both|new|existing|unit|integration|other|relevant|\d+(?:/\d+)?|of) ){0,6}"
    r"(?:tests?|specs?|test suites?|test cases|checks|suite|builds?|gates|lint(?:er|ing)?|type[- ]?checks?)"
)
_NOW: Final = r"(?:(?:now|all|also|still|is|are|have|has|been|run|runs|running|successfully|cleanly) ){0,5}"
_FINE: Final = (
    r"(?: (?:now(?! that)|perfectly|flawlessly|correctly|properly|fine|great|smoothly"
    r"|beautifully|cleanly|successfully|well|again|reliably|seamlessly|exactly"
    r"|as (?:expected|intended|designed|required|specified|it should)"
    r"|end[- ]to[- ]end|out of the box|without (?:any )?(?:errors?|issues?|problems?|failures?|warnings?)"
    r"|with (?:no|zero|0) (?:errors?|issues?|failures?|warnings?|regressions?))){0,4}"
)
_DONE: Final = (
    r"(?:complete[d]?|done|finished|met|achieved|fulfilled|satisfied|accomplished|implemented|in place)"
)

_ADJECTIVE: Final = (
    r"(?:clean|robust|elegant|solid|correct|complete|great|good|efficient|optimal|working|stable|simple|safe|tested"
    r"|maintainable|well[- ](?:tested|structured|documented))"
)

_ENGLISH: Final = (
    rf"\b{_TESTS} {_NOW}(?:pass(?:es|ed|ing)?|green|clean|succeed(?:s|ed)?|successful){_FINE}\b",
    r"\b(?:all|everything is|everything's) green\b",
    (
        r"\b(?:every|any)thing (?:(?:is|just|else|now) ){0,3}"
        rf"(?:works?|working|runs?|passes|passing|compiles|builds){_FINE}\b"
    ),
    (
        r"\b(?:everything|it all|all|it)(?:'s| is| looks| are| checks)(?: (?:now|working|very|all)){0,3}"
        r" (?:good|great|fine|perfect|correct|complete|done|out|finished"
        r"|in place|in order|ready|working|set)\b"
        rf"{_FINE}"
    ),
    rf"\b(?:works?|functions?|behaves?|runs){_FINE}{_END}",
    rf"\b(?:is|are) (?:now |fully )?(?:working|functional|operational){_FINE}{_END}",
    r"\b(?:perfect(?:ly)?|flawless(?:ly)?|excellent|rock[- ]solid|bullet[- ]?proof|thoroughly tested)\b",
    (
        r"\b(?:100 ?%|fully|completely|totally) (?:complete|done|finished|working|functional"
        r"|implemented|tested|ready"
        r"|operational|correct|verified|covered|compliant|satisfied)\b"
    ),
    r"\b(?:production|deployment|merge|ship|release)[- ](?:ready|grade|quality)\b",
    r"\b(?:ready|good) (?:for|to) (?:production|use|go|ship|merge|deploy(?:ment)?|review|be merged)\b",
    (
        r"\b(?:high[- ]quality|enterprise[- ]grade|state[- ]of[- ]the[- ]art|best[- ]in[- ]class"
        r"|battle[- ]tested)\b"
    ),
    (
        r"\b(?:(?:the|this|your|my|whole|entire) ){0,3}(?:work|task|implementation"
        r"|feature|job|request|goal|fix|project)"
        rf" (?:is|are|has been|was) (?:(?:now|all|fully) ){{0,2}}{_DONE}\b"
    ),
    (
        r"\b(?:all|every|each)(?: of)?(?: the| your| my){0,2} "
        r"(?:requirements?|criteri(?:a|on)|goals?|tasks?|todos?|items?"
        r"|conditions?|points?|acceptance criteria|changes)(?: you asked for)?,?"
        r" (?:is|are|has been|have been|was|were)"
        rf" (?:(?:now|all|fully) ){{0,2}}(?:{_DONE}|addressed|resolved|handled|verified|covered)\b"
    ),
    (
        r"\b(?:success(?:ful(?:ly)?)?|succeeded|mission accomplished|task complete[d]?"
        r"|all done|all set|job done"
        r"|you(?:'re| are) (?:all set|good to go))\b"
    ),
    (
        r"\b(?:(?:with|and|there are|has|have) )?(?:no|zero|0) (?:\w{1,20} )?"
        r"(?:errors?|failures?|regressions?|issues"
        r"|problems|warnings)\b(?: (?:remain(?:ing|s)?|left|found|at all|whatsoever|anywhere))?"
    ),
    r"\bwithout (?:any )?(?:errors?|issues|problems|failures?|warnings)\b",
    (
        r"^\W{0,9}(?:done|complete[d]?|finished|perfect|great|excellent|awesome|fantastic"
        r"|fixed|solved|wonderful)(?=\W*$)"
    ),
    r"\bi(?:'m| am) (?:(?:very|fully|absolutely|100 ?%) )?(?:confident|certain|sure|happy|pleased|proud)\b",
    (
        r"\b(?:the|this|my) (?:solution|implementation|code|work|fix)"
        r" (?:is|looks) (?:(?:now|very|really) ){0,2}"
        rf"{_ADJECTIVE}(?:,? (?:and )?{_ADJECTIVE}){{0,3}}\b"
    ),
)
_GERMAN: Final = (
    (
        r"\b(?:(?:alle|sämtliche|die|neuen|unit|\d+)[ -]){1,4}(?:tests?|prüfungen|builds?)"
        r"(?: (?:sind|laufen|wurden|jetzt|nun|erfolgreich|fehlerfrei|alle|auch|wieder)){0,4}"
        r" (?:grün|bestanden|erfolgreich|durch(?:gelaufen)?|fehlerfrei|bestehen)\b"
    ),
    (
        r"\balles(?: (?:ist|jetzt|nun|läuft|funktioniert|klappt|wie)){1,3}"
        r"(?: (?:grün|fertig|erledigt|perfekt|einwandfrei|erwartet|fehlerfrei|in ordnung|bestens)){0,2}\b"
    ),
    (
        r"\b(?:erfolgreich|einwandfrei|fehlerfrei|reibungslos|tadellos|perfekt|produktionsreif|einsatzbereit"
        r"|vollständig (?:umgesetzt|fertig|getestet|funktionsfähig)"
        r"|(?:bereit|fertig) für (?:die )?(?:produktion|den einsatz))\b"
    ),
    (
        r"\b(?:die |der |das )?(?:aufgabe|arbeit|umsetzung|implementierung)"
        r" ist (?:(?:nun|jetzt|damit|vollständig) ){0,2}"
        r"(?:abgeschlossen|fertig|erledigt|vollständig)\b"
    ),
    r"\b(?:keine|ohne) (?:fehler|probleme|warnungen)\b",
    r"^\W{0,9}(?:fertig|erledigt|geschafft|perfekt|super)(?=\W*$)",
)
_FRENCH: Final = (
    (
        r"\btous les (?:\w{1,20} )?tests?(?: unitaires)? "
        r"(?:passent|réussissent|sont (?:passés|verts|au vert|réussis))"
        r"(?: (?:maintenant|désormais|avec succès|parfaitement|sans (?:erreur|problème)s?)){0,3}\b"
    ),
    (
        r"\btout (?:est|fonctionne|marche|passe)(?: (?:maintenant|désormais|parfaitement"
        r"|correctement|bien|prêt|vert"
        r"|au vert|en ordre|terminé|comme (?:prévu|attendu)|sans (?:erreur|problème)s?)){1,3}\b"
    ),
    r"\btout (?:fonctionne|marche)(?=\W*$)",
    (
        r"\b(?:avec succès|parfaitement|impeccablement|entièrement fonctionnel(?:le)?"
        r"|prête?s? pour la production"
        r"|aucune? (?:erreur|problème|régression)|sans (?:erreur|problème)s?)\b"
    ),
    (
        r"\bla (?:tâche|mise en œuvre|fonctionnalité) est (?:maintenant |désormais )?"
        r"(?:terminée|complète|achevée|finie)\b"
    ),
    r"^\W{0,9}(?:terminé|parfait|fini|c'est fait|voilà)(?=\W*$)",
)
_IBERIAN: Final = (
    (
        r"\b(?:todas|todos) (?:las|los|as|os) (?:\w{1,20} )?(?:pruebas|tests?|testes)"
        r"(?: (?:ahora|agora|ya|já|están|estão|han|foram|a)){0,3}"
        r" (?:pasan|pasaron|pasando|pasado|passam|passaram|passando|passar"
        r"|en verde|verdes|aprobad[ao]s|aprovados)\b"
        r"(?: (?:correctamente|corretamente|com sucesso|con éxito"
        r"|sin (?:errores|problemas)|sem (?:erros|problemas))){0,2}"
    ),
    (
        r"\b(?:todo|tudo)(?: (?:ya|ahora|agora|está|funciona|funcionando"
        r"|correctamente|corretamente|perfectamente"
        r"|perfeitamente|bien|bem|listo|pronto|completo|en orden|em ordem"
        r"|(?:como|según) (?:se |lo )?esper\w{1,4}"
        r"|sin (?:errores|problemas)|sem (?:erros|problemas))){1,4}\b"
    ),
    (
        r"\b(?:con éxito|exitosamente|com sucesso|perfectamente"
        r"|perfeitamente|list[oa]s? para (?:producción|usar)"
        r"|pront[oa]s? para (?:produção|uso)|(?:totalmente|completamente) funcional(?:es)?"
        r"|sin (?:ningún )?(?:error(?:es)?|problemas?)|sem (?:nenhum )?(?:erros?|problemas?)"
        r"|ningún (?:error|problema)|nenhum (?:erro|problema))\b"
    ),
    (
        r"\b(?:la|a) (?:tarea|implementación|tarefa|implementação) (?:está|ha sido|foi) (?:ya |já )?"
        r"(?:completad?a|terminada|concluída|finalizada|lista|pronta)\b"
    ),
    r"^\W{0,9}(?:listo|hecho|perfecto|terminado|pronto|feito|perfeito|concluído)(?=\W*$)",
)
PRAISE: Final = (*_ENGLISH, *_GERMAN, *_FRENCH, *_IBERIAN)

CAREFUL: Final = (
    r"[?\u00bf]",
    r"\b(?:not|no|never|none|neither|nor|cannot|unable|without)\b|n['\u2019]t\b",
    (
        r"\b(?:fail\w{0,6}|broken|breaks?|crash\w{0,3}|hangs?|timed out|skip\w{0,4}|xfail\w{0,2}"
        r"|flaky|red|unverified|untested"
        r"|unclear|unknown|missing|incomplete|partial(?:ly)?|wrong|stuck|blocked|revert\w{0,3}"
        r"|disabled?|remov\w{0,3}|delet\w{0,3}|bypass\w{0,3}|ignor\w{0,3}"
        r"|suppress\w{0,3}|stub\w{0,4}|mock\w{0,3}"
        r"|placeholder\w?|hard-?coded|workaround|todos?|tbd|fixme|pending|open|left|remain\w{0,4}|deferred"
        r"|later|yet)\b"
    ),
    (
        r"\b(?:but|however|although|though|except|apart from|unless|until|if|once"
        r"|when|whether|otherwise|instead|only|some"
        r"|most(?:ly)?|half|few|almost|nearly|partly|caveat\w?|limitation\w?|note"
        r"|beware|careful|ensure\w?|ma[kd]e sure|assum\w{0,6})\b"
    ),
    (
        r"\b(?:should|would|could|might|may|will|shall|can|must|needs?|want\w{0,3}"
        r"|please|next|ask\w{0,3}|decide|choose"
        r"|which|prefer|approv\w{0,3}|confirm|let me know|tell me|you need|manual(?:ly)?"
        r"|yourself|i(?:'ll| will)|going to"
        r"|to (?:make|get|have|see|ensure|check))\b"
    ),
    (
        r"^(?!.{0,999}\b(?:fix|resolv|solv|repair|correct|handl|address))"
        r".{0,999}?\b(?:error|exception|bug|problem|issue|warning|conflict)s?\b"
    ),
    (
        r"\b(?:nicht|kein\w{0,2}|nie|ohne|aber|jedoch|außer|bis auf|wenn|falls|sobald|ob|nur"
        r"|einige|manche|fast|teilweise|noch"
        r"|offen|fehlt|fehlen|fehl\w{0,10}|fehler\w{0,3}|kaputt|übersprungen|bitte|soll\w{0,4}"
        r"|kann|könnte\w{0,2}|muss|müsste\w?"
        r"|möchte\w{0,3}|würde\w{0,2}|welche\w?|später|leider|allerdings|obwohl|sonst|bleib\w{0,2})\b"
    ),
    (
        r"\b(?:pas|jamais|mais|sauf|excepté|cependant|toutefois|si|lorsque|quand|seulement"
        r"|certains|presque|partiellement"
        r"|reste\w{0,2}|manqu\w{0,5}|échou\w{0,4}|échec\w?|erreurs?|ignoré\w{0,2}|devrai\w{0,4}"
        r"|pourrai\w{0,4}|peut|doit|veuillez"
        r"|voulez|souhaitez|quel\w{0,4}|encore|malheureusement|cassé\w{0,2})\b"
    ),
    (
        r"\b(?:no|não|nunca|pero|mas|salvo|excepto|exceto|aunque|embora|sin embargo|porém"
        r"|cuando|quando|si|solo|sólo|apenas"
        r"|algun\w{0,2}|casi|quase|parcial\w{0,5}|falt\w{0,3}|fall\w{1,5}|falh\w{1,4}"
        r"|error(?:es)?|erros?|omitid\w{1,2}|debería\w?"
        r"|deveria\w?|podría\w?|poderia\w?|puede\w?|pode\w?|debe\w?|deve\w?|quiere\w?|quer"
        r"|cuál|qual|todavía|ainda|aún"
        r"|pendiente\w?|pendente\w?|rot[oa]s?|quebrad\w{1,2})\b"
    ),
)
FILLERS: Final = (
    (
        r"\b(?:a|an|and|all|also|are|as|at|been|both|code|everything|expected|for|great|has|have"
        r"|here|i|in|is|it|its|i've|just"
        r"|me|my|now|of|on|our|out|quite|really|running|so|that|the"
        r"|there|these|things?|this|to|very|was|we|were|with|work"
        r"|works?|working|you|your|verified|tested|confirmed|checked|implementation|feature"
        r"|solution|changes?|tests?|suite"
        r"|thus|therefore|hence|overall|finally|summary|in summary|status|result|results?"
        r"|task|both|again|completed?"
        r"|implemented|fixed|done|finished|built|ran|executed|passes|passed|build|lint|types?)\b"
    ),
    (
        r"\b(?:und|ist|sind|das|die|der|ich|habe|alles|es|nun|jetzt|damit|somit|auch|wurde|wurden"
        r"|umgesetzt|implementiert)\b"
    ),
    r"\b(?:et|est|sont|le|la|les|j'ai|tout|ce|maintenant|été|implémentée?s?|terminée?s?)\b",
    (
        r"\b(?:y|e|está|están|estão|el|los|las|os|as|he|se|ha|foi|todo|tudo|ahora|agora|implementad[oa]s?"
        r"|completad[oa]s?)\b"
    ),
)
