"""German."""

from __future__ import annotations

from typing import Final

from sidecar.judging.wording.form import Words

WORDS: Final = Words(
    leave=r"""
    soll(?:te)? ich\b
    (?:darf|kann) ich\b
    m(?:ö|oe)chte(?:st du|n sie|t ihr)\b[^.?\n]{0,40}\b(?:ich|dass)\b
    w(?:ü|ue)nsch(?:st du|en sie)\b
    willst du,? dass ich\b
    (?:ist es|w(?:ä|ae)re es) (?:ok|okay|in ordnung|recht)\b
    (?:sag|sagen sie|gib|geben sie)(?: mir)?(?: einfach| kurz)? (?:bescheid|gr(?:ü|ue)nes licht)\b
    wenn (?:du (?:m(?:ö|oe)chtest|willst|magst)|sie (?:m(?:ö|oe)chten|wollen))\b[^.\n]{0,20}\bich\b
    (?:kann|k(?:ö|oe)nnte) ich\b[^.\n]{0,120}\bwenn (?:du|sie)\b
    ich (?:kann|k(?:ö|oe)nnte)\b[^.\n]{0,120}\bwenn (?:du|sie)\b
    m(?:ö|oe)chte(?:st du|n sie)\b[^.?\n]{1,80}\?
    (?:passt (?:das|dir|ihnen)|einverstanden|in ordnung so|sollen wir)\b
    """,
    onward=r"""
    (?:weiter(?:machen|arbeiten|gehen)?|fortfahren|loslegen|anfangen|beginnen|fortsetzen|so verfahren)\b
    (?:fertigstellen|abschlie(?:ß|ss)en|angehen|erledigen|(?:ü|ue)bernehmen)\b
    """,
    checks=r"""
    (?:tests?|testsuite|build|linter|typpr(?:ü|ue)fung)\b[^.?\n]{0,40}(?:ausf(?:ü|ue)hren|laufen lassen\
    |starten|anwerfen)\b
    """,
    applies=r"""
    (?:das|es|dies|die(?:se)?n?|den|diesen?) ?(?:\w+ ){0,3}(?:umsetzen|anwenden|einbauen|implementieren\
    |beheben|korrigieren|fixen|reparieren|vornehmen)\b
    """,
    extra=r"""
    (?:sonst|noch etwas|noch was|etwas anderes|irgend\w+|andere[rns]?\b(?! dateien)|zus(?:ä|ae)tzlich\w*)
    (?:weitere[rns]?|au(?:ß|ss)erdem|optional|erkl(?:ä|ae)ren|n(?:ä|ae)her|anpassen|verbessern)\b
    (?:commit|pull request|n(?:ä|ae)chste (?:aufgabe|ticket|feature)|(?:ä|ae)hnliche?)\b
    """,
    lead=r"""
    (?:als n(?:ä|ae)chstes|n(?:ä|ae)chster schritt|jetzt|nun|dann|danach|anschlie(?:ß|ss)end)\b
    (?:und|so|gut|okay|ok|prima|perfekt|super|zuerst|zun(?:ä|ae)chst|schlie(?:ß|ss)lich|au(?:ß|ss)erdem)\b
    im n(?:ä|ae)chsten schritt\b
    """,
    promise=r"""
    ich (?:werde|will|muss noch)\b
    (?:werde|will) ich\b
    (?!hab|hatt|konnt|wurd|war|bin|fand|hielt|lie|empf|schl|w(?:ü|ue)|k(?:ö|oe)|seh|find|denk|glaub\
    |brauch|bitt)\w{3,}e ich\b
    ich \w+e (?:jetzt|nun|gleich|als n(?:ä|ae)chstes|anschlie(?:ß|ss)end|danach|dann|noch)\b
    (?:folgt|folgen|kommt|kommen) (?:der|die|das|noch)\b
    weiter mit\b
    """,
    nexts=r"""
    (?:als n(?:ä|ae)chstes|jetzt|nun|danach|anschlie(?:ß|ss)end) (?:werde|mache|f(?:ü|ue)hre|baue\
    |schreibe|passe|lasse) ich\b
    """,
    doing=r"""
    lass(?:t|en sie)? (?:mich|uns)\b
    ich (?:schaue|sehe) (?:mir )?(?:jetzt|nun|mal|noch|kurz|die|das|den)\b
    ich (?:pr(?:ü|ue)fe|(?:ä|ae)ndere|aktualisiere|bearbeite|erg(?:ä|ae)nze|f(?:ü|ue)ge|starte|lese|passe\
    |repariere) (?:jetzt|nun|noch|mal|kurz)\b
    (?:schaue|sehe|pr(?:ü|ue)fe|(?:ä|ae)ndere|aktualisiere|bearbeite|starte|lese|passe) ich (?:mir \
    |noch )?\b
    (?:jetzt|nun) (?:noch )?(?:die|das|den|der|zum|zur)\b[^.\n]{1,100}(?::|\.\.\.)\W*$
    """,
    acts=r"""
    ich (?:pr(?:ü|ue)fe|schaue|sehe|(?:ä|ae)ndere|aktualisiere|bearbeite|starte|lese|passe|f(?:ü|ue)hre\
    |suche|korrigiere)\b[^.\n]{1,120}:\W*$
    """,
    idle=r"""
    (?:warte|nichts|nicht\b|halte|lasse|stoppe|h(?:ö|oe)re|bleibe|melde|gerne?\b|zur verf(?:ü|ue)gung\
    |empfehle)
    (?:brauche|ben(?:ö|oe)tige|w(?:ü|ue)rde|sie\b|du\b|ihr\b|ihnen\b|dir\b|keine?\b|verzichte|beobachte\
    |erw(?:ä|ae)hne)
    """,
    filler=r"""
    (?:das|es) (?:dauert|sollte|wird)\b[^.\n]{0,40}(?:dauer\w*|moment|minuten?|kurz|gleich|schnell)
    ich (?:melde mich|gebe (?:dir|ihnen)|berichte|sage (?:dir|ihnen))\b
    (?:danach|dann) (?:melde|berichte|fasse) ich\b
    (?:einen (?:kurzen )?moment|moment bitte|bis gleich|gleich mehr)\b
    """,
    hinges=r"""
    (?:wenn|falls|sobald|sofern|bis|solange|ob)\b
    nach (?:der|dem|deiner|ihrer) (?:freigabe|review|merge|deployment|release|best(?:ä|ae)tigung)\b
    """,
    yours=r"""
    (?:bitte|sag|sagen sie|gib|geben sie|teile?n? sie|lass(?:en sie)? (?:es )?mich wissen|warte)\b
    (?:brauche|ben(?:ö|oe)tige)\b
    (?:deine?r?|ihre?r?) (?:freigabe|best(?:ä|ae)tigung|entscheidung|antwort|zustimmung|ok)\b
    (?:m(?:ö|oe)chtest|soll ich)\b
    welche[rns]?\b[^.?\n]{0,100}\?
    """,
    later=r"""
    (?:optional|sp(?:ä|ae)ter|zuk(?:ü|ue)nftig|k(?:ü|ue)nftig|irgendwann|morgen|bei bedarf|bewusst\
    |absichtlich)\b
    (?:au(?:ß|ss)erhalb|nicht (?:teil|gefragt|verlangt|n(?:ö|oe)tig|gew(?:ü|ue)nscht)|auf wunsch\
    |unver(?:ä|ae)ndert|manuell)
    (?:k(?:ö|oe)nnte|k(?:ö|oe)nnten|sollte man|w(?:ä|ae)re|empfehl|vorschl|vorschlag|idee|wie (?:gew(?:ü\
    |ue)nscht|besprochen|vereinbart))
    (?:falls|wenn (?:du|sie|gew(?:ü|ue)nscht)|n(?:ä|ae)chste[rns]? (?:mal|woche|sprint|version|pr)\
    |eigene[rn]? (?:pr|ticket))\b
    """,
    done=r"""
    (?:fertig|erledigt|abgeschlossen|vollst(?:ä|ae)ndig|komplett|geschafft)\b
    (?:funktioniert|l(?:ä|ae)uft|klappt|sitzt)\b
    (?:ist|sind) (?:jetzt |nun |damit )?(?:behoben|implementiert|umgesetzt|aktualisiert|drin|eingebaut\
    |repariert)\b
    """,
    made=r"""
    ich habe\b[^.\n]{1,200}(?:ge\w+t|ge\w+en|\w+iert|hinzugef(?:ü|ue)gt|umbenannt|behoben|erg(?:ä|ae)nzt\
    |ersetzt|erstellt|entfernt|verschoben|\w+ge\w+(?:t|en))\b
    (?:wurde|wurden)\b[^.\n]{1,120}(?:ge\w+t|ge\w+en|\w+iert|behoben|erg(?:ä|ae)nzt|ersetzt|erstellt\
    |entfernt|umbenannt)\b
    habe ich\b[^.\n]{1,200}(?:ge\w+t|\w+iert|behoben|erg(?:ä|ae)nzt|ersetzt|erstellt|entfernt|umbenannt\
    |\w+ge\w+(?:t|en))\b
    """,
    amiss=r"""
    (?:fehl|scheiter|gescheitert|kaputt|absturz|abgest|ausnahme|problem|rot\b|leider|unm(?:ö|oe)glich\
    |abbruch|abgebrochen)
    (?:schl(?:ä|ae)gt|schlug|schlagen|unvollst|teilweise|offen|ungel|warnung|exit|timeout|zeit(?:ü\
    |ue)berschreitung|bekannt)
    (?:nicht (?:gr(?:ü|ue)n|m(?:ö|oe)glich|gelungen|durch|erfolgreich|verf|gefunden|lauff)\
    |konnte[^.\n]{0,60} nicht|l(?:ä|ae)uft (?:noch )?nicht|funktioniert (?:noch )?nicht\
    |geht (?:noch )?nicht)
    """,
    mended=r"""
    fehler(?:behandlung|meldung(?:en)?|klassen?|fall|f(?:ä|ae)lle)\b
    (?:den|der|die|das|diesen|alle) (?:\w+ ){0,2}(?:fehler|problem|bug\
    |absturz)\w*\b[^.\n]{0,40}(?:behoben|gel(?:ö|oe)st|repariert|korrigiert|gefixt)\b
    (?:ohne|keine) (?:fehler|probleme|warnungen)\b
    (?:0|null|keinerlei) (?:fehler|fehlschl(?:ä|ae)ge|fehlgeschlagen)\b
    """,
    passes=r"""
    (?:alle )?(?:\w+-?)?tests (?:\w+ ){0,3}(?:bestehen|laufen (?:\w+ )?(?:durch|gr(?:ü|ue)n)\
    |sind (?:\w+ )?gr(?:ü|ue)n|bestanden|gr(?:ü|ue)n)\b
    (?:testsuite|suite|build) (?:ist|l(?:ä|ae)uft) (?:\w+ )?(?:gr(?:ü|ue)n|durch)\b
    \d+ (?:von \d+ )?(?:tests? )?(?:bestanden|gr(?:ü|ue)n|erfolgreich)\b
    `[^`\n]{1,80}` (?:ist (?:\w+ )?gr(?:ü|ue)n|l(?:ä|ae)uft (?:\w+ )?(?:durch|gr(?:ü|ue)n)|besteht\
    |erfolgreich)\b
    """,
    told=r"""
    `[^`\n]{1,80}` (?:ist (?:\w+ )?gr(?:ü|ue)n|l(?:ä|ae)uft (?:\w+ )?(?:durch|gr(?:ü|ue)n)|besteht\
    |erfolgreich|ausgef(?:ü|ue)hrt)\b
    """,
    denies=r"""
    (?:nicht|kein|keine[rnms]?|nie|aber|jedoch|allerdings|obwohl|au(?:ß|ss)er|ohne|noch|nur|bereits|schon\
    |bis auf)\b
    (?:wenn|falls|sobald|bis|bevor|sollte[nst]*|w(?:ü|ue)rde[nst]*|k(?:ö|oe)nnte[nst]*|muss|m(?:ü\
    |ue)ss\w+|wird|werden|vorher|zuvor|fast)\b
    """,
    rest=r"""
    (?:noch (?:offen|zu tun|(?:zu )?(?:erledigen|machen)|ausstehend|nicht)|offen(?:e punkte)?|ausstehend\
    |verbleibend\w*|(?:ü|ue)brig)\b
    (?:fehlt|fehlen|steht|stehen|bleibt|bleiben)\b[^.\n]{0,60}(?:noch|aus|offen|(?:ü|ue)brig)?\b
    (?:n(?:ä|ae)chste schritte|to-?dos?|restliche\w*|rest)\b
    (?:noch (?:kein|nicht)|muss(?:en)? noch|m(?:ü|ue)ssen noch)
    """,
    alike=r"""
    (?:rest|restliche\w*|(?:ü|ue)brige\w*|andere\w*|weitere\w*)\b[^.\n]{0,80}\b(?:gleich\w*|analog|ebenso\
    |entsprechend|(?:ä|ae)hnlich|genauso|selbe[nrs]?)\b
    """,
    choice=r"""
    (?:welche[rnms]?|lieber|bevorzug\w*|option\w*|variante\w*|alternativ\w*|entscheid\w*|entweder|statt\
    |kunden|schnittstelle|risiko|aufwand|umfang\w*)\b
    (?:kompatib|abw(?:ä|ae)g|verhalten (?:ä|ae)ndern|bricht|brechen|betrifft|auswirk|allerdings|jedoch\
    |rechtlich|preis|stunden|tage\b)
    """,
    either=r"""
    oder\b
    """,
    unclear=r"""
    (?:unklar|mehrdeutig|nicht (?:ganz )?(?:klar|sicher|eindeutig)|gemeint|meinst du|meinen sie\
    |zwei (?:lesarten|deutungen|m(?:ö|oe)glichkeiten)|interpret|genauer|kl(?:ä|ae)r)
    """,
    rights=r"""
    (?:passwort|kennwort|zugangsdaten|zugriff|schl(?:ü|ue)ssel|api-?key|token|geheim|berechtigung\
    |rechte\b|anmeld|login|zertifikat|credential|freigabe|freigeben|genehmig)
    """,
    risky=r"""
    (?:l(?:ö|oe)sch|entfern\w+ (?:alle|die (?:alte|daten|tabelle))|verwerf|(?:ü|ue)berschreib|unwiderruf\
    |unumkehrbar|produktion|produktiv|prod\b|live\b|deploy|ausroll|ver(?:ö|oe)ffentlich|release|push\
    |merge|migr|datenbank|tabelle|commit)
    (?:kosten|kostet|geb(?:ü|ue)hr|bezahl|rechnung|euro|€|staging|zur(?:ü|ue)cksetz|neu ?start|abschalt\
    |deaktiv|backup|force|kunden|e-?mail|versend|drop\b|truncate|k(?:ü|ue)ndig)
    """,
    outside=r"""
    (?:warte\w*|wartet|blockiert|review|ci\b|pipeline|l(?:ä|ae)uft noch(?! nicht)|in arbeit|warteschlange\
    |im hintergrund|dauert|dns|ausfall|nicht erreichbar|maintainer|geplant)
    """,
    cannot=r"""
    (?:unm(?:ö|oe)glich|nicht m(?:ö|oe)glich|nicht machbar|nicht unterst(?:ü|ue)tzt|geht nicht\
    |keine m(?:ö|oe)glichkeit|l(?:ä|ae)sst sich nicht|gibt es nicht)
    (?:widersprech\w*|schlie(?:ß|ss)en (?:sich|einander) [^.\n]{0,20}aus|unvereinbar)\b
    """,
    lacks=r"""
    (?:mir |uns |dir )?fehl(?:t|en)\b
    (?:ich habe|habe ich|wir haben) (?:hier |daf(?:ü|ue)r |noch |aktuell )?(?:kein|nicht)\w*
    (?:kein\w*|ohne|brauche|ben(?:ö|oe)tige|abgelaufen|verweigert|abgelehnt|ung(?:ü|ue)ltig|gesperrt)\b
    nicht (?:gesetzt|konfiguriert|vorhanden|hinterlegt|angemeldet|eingeloggt|erlaubt|bekannt)\b
    (?:kann|konnte|darf) (?:ich |mich )?[^.\n]{0,60}\bnicht\b
    (?:bitte|40[13])\b
    """,
    mild=r"""
    (?:commit|migr|merge|push|release|deaktiv|neu ?start|tabelle|datenbank|kunden|live\b|staging|backup\
    |e-?mail)
    """,
    verbs=r"""
    (?:f(?:ü|ue)ge?|erg(?:ä|ae)nze?|repariere?|behebe?|korrigiere?|implementiere?|erstelle?|schreibe?)\b
    (?:baue?|(?:ä|ae)ndere?|aktualisiere?|benenne?|ersetze?|entferne?|l(?:ö|oe)sche?|migriere?)\b
    (?:portiere?|verschiebe?|stelle?|mach(?:e)?|fixe?|setze?|passe?|teste?|f(?:ü|ue)hre?|nutze?)\b
    (?:verwende?|konvertiere?|refaktor\w*|(?:ü|ue)bersetze?|vervollst(?:ä|ae)ndige?|installiere?)\b
    (?:aktiviere?|deaktiviere?|optimiere?|bereinige?|zerlege?|trenne?)\b
    """,
    polite=r"""
    (?:bitte|und|dann|danach|anschließend|jetzt|nun|zuerst|auch)\b
    """,
    work=r"""
    f(?:ü|ue)ge?\b[^.\n]{1,80}\b(?:hinzu|ein)\b
    (?:hinzuf(?:ü|ue)gen|reparieren|beheben|korrigieren|implementieren|erstellen|schreiben|umbauen\
    |einbauen|(?:ä|ae)ndern|aktualisieren|umbenennen|ersetzen|entfernen|migrieren|portieren|verschieben\
    |umstellen|anpassen|erg(?:ä|ae)nzen|umsetzen|(?:ü|ue)bersetzen|weitermachen|fixen)\b(?!\?)
    (?:weiter|mach weiter|bitte)\b
    (?:soll|sollen|muss|m(?:ü|ue)ssen)\b[^.?\n]{1,80}(?:werden|unterst(?:ü|ue)tzen|liefern|haben|sein\
    |k(?:ö|oe)nnen)\b
    """,
    wonder=r"""
    (?:was|warum|wieso|weshalb|wie (?:viele?|gro(?:ß|ss)|funktioniert|kann|geht|ist|sind|wird|l(?:ä\
    |ae)uft)|wo|wer|wann|welche[rnms]?|wof(?:ü|ue)r|wozu|erkl(?:ä|ae)re?|beschreibe?|zeige?? mir\
    |untersuche?|analysiere?|pr(?:ü|ue)fe?,? (?:ob|warum|wie)|finde?? heraus|vergleiche?|schau|sieh\
    |nenne?|sag mir|bewerte?|gib mir einen? (?:(?:ü|ue)berblick|zusammenfassung)|fasse?)\b
    """,
    holds=r"""
    (?:frag|frage|zeig|zeige) (?:mich|mir) (?:vorher|zuerst|erst|bevor)\b
    (?:bevor du|warte auf|erst (?:planen|vorschlagen|fragen)|nur (?:planen|analys|schau|les|erkl\
    |berichte)|nichts (?:ä|ae)ndern|keine (?:ä|ae)nderung|ohne (?:etwas )?zu (?:ä|ae)ndern|nicht (?:ä\
    |ae)ndern|schritt f(?:ü|ue)r schritt|h(?:ö|oe)re? (?:dann|danach|dort) auf|danach stopp|dann stopp\
    |stoppe?|halte? (?:dann|danach) an|nur einen plan|vorschlag|mach einen plan|meine[rn]? (?:freigabe\
    |zustimmung|ok))
    """,
    spares=r"""
    (?:nicht|kein\w*|ohne|au(?:ß|ss)er|sp(?:ä|ae)ter|lass\w*|ausgenommen|nie)\b
    """,
    every=r"""
    (?:alle[nrsm]?|jede[nrsm]?|beide[nr]?|s(?:ä|ae)mtliche[nr]?|ganze[nr]?|(?:ü|ue)berall|\d+|zwei|drei\
    |vier|f(?:ü|ue)nf|sechs|sieben|acht|neun|zehn|phasen?|schritte?)\b
    """,
    red=r"""
    (?:reproduzier\w*|fehlschlagende\w* test|roter test|tdd)
    """,
    common="der die das und ist nicht ich mit auf für ein eine den dem zu im es sind noch soll wurde bitte",
    cut="der die das den dem ein eine einen und oder aber weil dass zum zur dann",
    stop="""
    der die das den dem des ein eine einen einem einer und oder ist sind war wird werden wurde nicht ich
    du sie er es wir ihr mir
    dir mich dich uns mit auf für fuer von vom zu zum zur im in am an aus bei nach als auch noch nun jetzt
    dann danach so wenn
    falls soll sollte kann könnte darf möchte möchtest möchten willst dass weiter weitermachen fortfahren
    machen
    mache gerne gern bitte alle alles beide rest restlichen restliche übrigen übrige anderen andere
    weiteren offen fehlt
    fehlen noch hinzufügen ergänzen schreiben schreibe erstellen implementieren umsetzen ändern anpassen
    aktualisieren beheben reparieren einbauen ausführen starten datei dateien code projekt neue neuen
    neues schritt schritte teil
    teile aufgabe arbeit nur schon hier dort wie was wo welche welchen habe hat haben bin als direkt
    gleich nächstes
    ebenfalls dazu dafür damit anschließend
    """,
)
