"""How text speaks to a judge in German, French, Spanish, Portuguese and Italian. See lexicon.py."""

from __future__ import annotations

from typing import Final

from sidecar.evidence.injection.lexicon import Lexicon, Phrase, listed

GERMAN: Final = Lexicon(
    judge=listed(
        "richter, richterin, gutachter, gutachterin, bewerter, prufer, pruferin, beurteiler, pruefer, "
        "juror, bewertungsmodell, prufmodell, bewertungsinstanz, prufinstanz, judge, bewertende*, "
        "prufende*, beurteilende*, evaluator, schiedsrichter"
    ),
    mark=listed(
        "markiere, markieren, erklare, erklaren, betrachte, betrachten, werte, werten, bewerte, "
        "bewerten, akzeptiere, akzeptieren, antworte, antworten, melde, melden, setze, stufe, behandle, "
        "behandeln, entscheide, entscheiden, gib, geben, erkenne, genehmige, genehmigen, nimm, verbuche, "
        "urteile, schliesse, schliessen, abzuschliessen"
    ),
    ask=listed("muss, musst, soll, sollst, sollte, bitte, ist zu, hat zu, darf, wird"),
    done=listed(
        "abgeschlossen, vollstandig, vollstaendig, erledigt, erfullt, erfuellt, fertig, erreicht, "
        "bestanden, genehmigt, komplett, complete, vollendet, abgenommen"
    ),
    goal=listed("ziel, aufgabe, arbeit, bedingung, auftrag, sitzung, alles"),
    answer=listed("antwort, antworte, antworten, urteile, ausgabe"),
    verdict=listed("urteil, verdikt, endurteil, bewertungsergebnis"),
    phrases=(
        Phrase(
            listed("ignorier, missacht, vergiss, vergess, beacht, ubergeh, verwirf"),
            r"\b(?:ignorier\w{0,3}|missacht\w{0,3}|vergiss|vergesst|vergessen sie|ubergeh\w{0,3}|verwirf"
            r"|beachte)\b[^|]{0,40}\b(?:anweisung|instruktion|regel|vorgabe|kriteri|prompt|beleg|hinweis"
            r"|richtlinie|befehl|rubrik|nachweis)\w{0,4}\b",
        ),
        Phrase(
            listed("keine , ohne weitere, nicht mehr"),
            r"\bkeine[rn]? (?:weitere[nr]?|zusatzliche[nr]?|erneute[nr]?|andere[nr]?) (?:\w+ )?(?:pruf"
            r"|uberpruf|nachweis|beleg|test|kontroll|check|verifi|bewert|begutacht)\w*"
            r"|\bohne weitere (?:pruf|uberpruf|nachweis|beleg|kontroll)\w*|\b(?:pruf|uberpruf"
            r"|verifi)\w* (?:ist |sind )?nicht mehr (?:notig|notwendig|erforderlich)\b",
        ),
        Phrase(
            listed("nutzer, anwender, auftraggeber, kunde, chef, eigentumer, kundin, leitung"),
            r"\b(?:benutzer|nutzer|anwender|auftraggeber|kunde|kundin|chef|eigentumer|leitung)(?:in"
            r"|s)? (?:hat|haben)\b[^|]{0,60}\b(?:freigegeben|genehmigt|abgenommen|bestatigt|akzeptiert"
            r"|abgesegnet|gepruft|zugestimmt|verifiziert)\b|\b(?:vom|von (?:dem|der)) (?:benutzer|nutzer"
            r"|anwender|auftraggeber|kunden|chef|richter)\w* [^|]{0,30}\b(?:freigegeben|genehmigt"
            r"|abgenommen|bestatigt|akzeptiert|gepruft)\b",
        ),
    ),
)
FRENCH: Final = Lexicon(
    judge=listed(
        "juge, juges, evaluateur, evaluatrice, correcteur, examinateur, verificateur, arbitre, "
        "modele d evaluation, modele evaluateur, agent d evaluation, systeme d evaluation, judge"
    ),
    mark=listed(
        "marque, marquez, marquer, declare, declarez, declarer, considere, considerez, considerer, "
        "traite, traitez, validez, valider, accepte, acceptez, accepter, reponds, repondez, repondre, "
        "renvoie, renvoyez, renvoyer, conclus, concluez, conclure, rends, rendez, rendre, approuve, "
        "approuvez, approuver, note, notez, donne, donnez, clore, clos, cloture, cloturer, cloturez"
    ),
    ask=listed(
        "doit, dois, devez, devra, doivent, veuillez, merci de, il faut, s il vous plait, s il te plait, "
        "priere de, peut"
    ),
    done=listed(
        "complet, complete, complets, completes, termine, terminee, termines, terminees, accompli, "
        "accomplie, atteint, atteinte, acheve*, approuve, approuvee, reussi, reussie, valide, validee, "
        "satisfait, satisfaite, fini, finie, rempli, remplie"
    ),
    goal=listed("objectif, but, tache, travail, condition, session, demande, tout"),
    verdict=listed("verdict, jugement final, jugement, decision finale"),
    phrases=(
        Phrase(
            listed("ignor, oubli, neglig, tiens pas compte, tenez pas compte, abstraction, fi des"),
            r"\b(?:ignore[rz]?|oublie[rz]?|neglige[rz]?|ne (?:tiens|tenez) pas compte|fai(?:s"
            r"|tes) abstraction|fai(?:s|tes) fi)\b[^|]{0,40}\b(?:instruction|consigne|regle|directive"
            r"|critere|preuve|grille|indication|ordre)s?\b",
        ),
        Phrase(
            listed("aucun, pas besoin, sans , plus besoin, n est necessaire, inutile"),
            r"\baucun\w{0,2} (?:autre )?(?:\w+ )?(?:verification|controle|preuve|evaluation|validation"
            r"|examen|test)s? (?:\w+ ){0,3}(?:necessaire|requis|requise|supplementaire|utile)|\b(?:pas"
            r"|plus) besoin (?:de |d )[^|]{0,20}\b(?:verif|control|preuve|evalu|test)\w*"
            r"|\bsans (?:\w+ )?(?:d )?autres? (?:verification|controle|preuve|question)s?\b"
            r"|\binutile de (?:verifier|controler|tester|relancer)\b",
        ),
        Phrase(
            listed("utilisateur, client, proprietaire, responsable, utilisatrice, direction"),
            r"\b(?:utilisateur|utilisatrice|client|cliente|proprietaire|responsable"
            r"|direction(?: \w+)?) (?:l )?(?:a|ont)\b[^|]{0,40}\b(?:approuve|valide|confirme|accepte"
            r"|verifie|autorise|donne son accord)\w{0,2}\b|\b(?:approuve|valide|confirme|accepte"
            r"|verifie)e? par (?:l |le |la )(?:utilisateur|client|proprietaire|juge)\b",
        ),
    ),
)
SPANISH: Final = Lexicon(
    judge=listed(
        "juez, jueza, evaluador*, calificador*, arbitro, verificador, verificadora, judge, "
        "modelo evaluador, modelo de evaluacion, agente evaluador, sistema de evaluacion, juzgador"
    ),
    mark=listed(
        "marca, marque, marcar, declara, declare, declarar, considera, considere, considerar, trata, "
        "trate, acepta, acepte, aceptar, responde, responda, responder, devuelve, devuelva, devolver, "
        "da por, de por, dar por, aprueba, apruebe, aprobar, concluye, concluya, cierra, cierre, cerrar, "
        "dictamina, dictamine, califica, califique, emite, emita"
    ),
    ask=listed("debe, debes, debera, deberia, tiene que, tienes que, por favor, hay que, puede"),
    done=listed(
        "completo, completa, completada, completado, completados, completadas, terminado, terminada, "
        "cumplido, cumplida, logrado, lograda, alcanzado, alcanzada, aprobado, aprobada, finalizado, "
        "finalizada, conseguido, complete, satisfecho, satisfecha"
    ),
    goal=listed("objetivo, meta, tarea, trabajo, condicion, sesion, todo"),
    verdict=listed("veredicto, dictamen, juicio final, fallo final"),
    phrases=(
        Phrase(
            listed("ignor, olvid, descart, caso omiso, en cuenta, pasa por alto, pase por alto"),
            r"\b(?:ignor[ae]\w{0,2}|olvid[ae]\w{0,2}|descart[ae]\w{0,2}|ha(?:z|ga) caso omiso"
            r"|no teng?as? en cuenta|pas[ae] por alto)\b[^|]{0,40}\b(?:instruccion|regla|indicacion"
            r"|criterio|orden|prueba|directriz|directrice|rubrica|evidencia)(?:e?s)?\b",
        ),
        Phrase(
            listed("no se , no es , no hace, no son , sin mas, no hay que, sin necesidad"),
            r"\bno (?:se (?:necesita\w*|requiere\w*)|hacen? falta|son necesari[ao]s|es necesari[ao]"
            r"|hay que)\b[^|]{0,25}\b(?:comproba|verifica|prueba|revisi|evidencia|evalua|valida)\w*"
            r"|\bsin (?:mas|necesidad de(?: mas)?) (?:comproba|verifica|prueba|revisi|evalua)\w*",
        ),
        Phrase(
            listed("usuari, cliente, propietari, dueno, responsable"),
            r"\b(?:usuari[oa]|cliente|propietari[oa]|dueno|responsable) (?:ya )?(?:lo |la )?(?:ha "
            r"|habia )?[^|]{0,20}\b(?:aprobo|aprobado|verifico|verificado|confirmo|confirmado|acepto"
            r"|aceptado|valido|validado|autorizado|autorizo)\b|\b(?:aprobad|verificad|confirmad|aceptad"
            "|validad)[oa]s? por (?:el |la )(?:usuari|cliente|propietari|juez|dueno)",
        ),
    ),
)
PORTUGUESE: Final = Lexicon(
    judge=listed(
        "juiz, juiza, avaliador*, julgador*, verificador, verificadora, judge, arbitro, "
        "modelo avaliador, modelo de avaliacao, agente avaliador, sistema de avaliacao"
    ),
    mark=listed(
        "marque, marca, marcar, declare, declarar, considere, considera, considerar, trate, aceite, "
        "aceitar, responda, responder, retorne, retornar, devolva, aprove, aprovar, de como, encerre, "
        "encerrar, feche, conclua, classifique, emita, julgue, de por"
    ),
    ask=listed("deve, devera, deves, tem que, tem de, por favor, precisa, favor, pode"),
    done=listed(
        "completo, completa, completado, completada, concluido, concluida, terminado, terminada, "
        "cumprido, cumprida, alcancado, alcancada, aprovado, aprovada, complete, finalizado, finalizada, "
        "atingido, atingida, satisfeito, satisfeita"
    ),
    goal=listed("objetivo, meta, tarefa, trabalho, condicao, sessao, tudo"),
    verdict=listed("veredito, veredicto, julgamento final, decisao final"),
    phrases=(
        Phrase(
            listed("ignor, esquec, desconsider, desprez, em conta"),
            r"\b(?:ignor[ae]\w{0,2}|esquec\w{1,3}|esqueca\w{0,2}|desconsider[ae]\w{0,2}|desprez[ae]\w{0,2}"
            r"|nao leve em conta)\b[^|]{0,40}\b(?:instruc|regra|orientac|criterio|diretriz|ordens|prova"
            r"|evidencia|rubrica)\w{0,4}\b",
        ),
        Phrase(
            listed("nao e , nao sao , nao ha , nenhuma, sem mais, nao precisa, dispensa"),
            r"\b(?:nao (?:e|sao|ha|precisa\w*)|nenhuma|dispensa\w*)\b[^|]{0,30}\b(?:verificac|checag|prova"
            r"|teste|evidencia|avaliac|validac|revis)\w*[^|]{0,20}\b(?:necessari\w*|adiciona\w*|precis\w*"
            r"|extra|mais)\b|\bnao (?:e|sao|ha) (?:mais )?(?:necessari\w*|precis\w*"
            r"|necessidade)\b[^|]{0,25}\b(?:verific|checa|prova|test|evidencia|avali|valid)\w*"
            r"|\bsem mais (?:verificac|prova|teste|avaliac)\w*",
        ),
        Phrase(
            listed("usuari, utilizador, cliente, dono, proprietari, responsavel"),
            r"\b(?:usuari[oa]|utilizador|cliente|dono|proprietari[oa]"
            r"|responsavel) (?:ja )?[^|]{0,20}\b(?:aprovou|verificou|confirmou|aceitou|validou"
            r"|autorizou)\b|\b(?:aprovad|verificad|confirmad|aceit|validad)[oa]s? (?:pelo|pela) (?:usuari"
            "|utilizador|cliente|dono|juiz)",
        ),
    ),
)
ITALIAN: Final = Lexicon(
    judge=listed(
        "giudice, giudici, valutatore, valutatrice, esaminatore, verificatore, judge, arbitro, "
        "modello valutatore, modello di valutazione, agente di valutazione, sistema di valutazione"
    ),
    mark=listed(
        "segna, segnate, segnare, contrassegna, contrassegnare, dichiara, dichiarate, dichiarare, "
        "considera, considerate, considerare, tratta, accetta, accettare, rispondi, rispondete, "
        "rispondere, restituisci, restituire, approva, approvare, concludi, concludere, chiudi, "
        "chiudere, chiudete, valuta, valutare, emetti, dai"
    ),
    ask=listed("deve, devi, dovete, dovrebbe, per favore, si prega, prego, bisogna, puo"),
    done=listed(
        "completo, completa, completato, completata, terminato, terminata, raggiunto, raggiunta, "
        "concluso, conclusa, approvato, approvata, soddisfatto, soddisfatta, finito, finita, complete, "
        "riuscito, riuscita, compiuto"
    ),
    goal=listed("obiettivo, compito, lavoro, condizione, sessione, tutto"),
    verdict=listed("verdetto, giudizio finale, giudizio, decisione finale"),
    phrases=(
        Phrase(
            listed("ignor, dimentica, trascura, tenere conto, tener conto"),
            r"\b(?:ignor[aie]\w{0,2}|dimentica\w{0,2}|trascura\w{0,2}"
            r"|non tener?e? conto)\b[^|]{0,40}\b(?:istruzion|regol|indicazion|criteri|direttiv|ordin|prov"
            r"|rubric)\w{0,2}\b",
        ),
        Phrase(
            listed("ulterior, nessun, non serv, non occorr, senza altr, non sono necessari, non e necessari"),
            r"\b(?:non (?:e|sono|serv\w+|occorr\w+)|nessun\w{0,2}|senza)\b[^|]{0,25}\b(?:ulterior\w*"
            r"|altr\w{1,2})\b[^|]{0,15}\b(?:verific|controll|prov|test|valutazion)\w*"
            r"|\bnessun\w{0,2} (?:verific|controll|prov|valutazion)\w* ulterior\w*|\bnon (?:e"
            r"|sono) necessari[aeo] (?:\w+ )?(?:verific|controll|prov|valutazion)\w*",
        ),
        Phrase(
            listed("utente, cliente, proprietari, committente, responsabile"),
            r"\b(?:utente|cliente|proprietari[oa]|committente"
            r"|responsabile) (?:l )?ha\b[^|]{0,30}\b(?:approvat|verificat|confermat|accettat|convalidat"
            r"|autorizzat)[oa]\b|\b(?:approvat|verificat|confermat|accettat|convalidat)[oa] d(?:all |al "
            "|alla )(?:utente|cliente|giudice|proprietari)",
        ),
    ),
)
LATIN: Final = (GERMAN, FRENCH, SPANISH, PORTUGUESE, ITALIAN)
