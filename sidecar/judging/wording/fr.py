"""French."""

from __future__ import annotations

from typing import Final

from sidecar.judging.wording.form import Words

WORDS: Final = Words(
    leave=r"""
    (?:souhait|voul|désir|aimer|préfér)\w*[- ](?:tu|vous)\b[^.?\n]{0,12}\bqu[e'] ?(?:je|j')?
    (?:veux|souhaites|voudrais|aimerais)[- ]tu\b
    tu (?:veux|souhaites|voudrais|aimerais) que\b
    vous (?:voulez|souhaitez|voudriez|aimeriez) que\b
    (?:dois|puis|devrais|pourrais)[- ]je\b
    est-ce que je (?:dois|peux|continue|lance)\b
    je (?:continue|poursuis|lance|procède|commence|m'y mets|corrige|le fais|l'applique)\b[^.\n]{0,60}\?
    (?:dis|dites)[- ]moi si\b
    si (?:tu veux|vous voulez|vous le souhaitez|tu le souhaites)\b[^.\n]{0,20}\bje\b
    je peux\b[^.\n]{0,120}\bsi (?:tu|vous)\b
    on continue\b
    ça te va\b
    j'(?:ajoute|applique|implémente|écris|adapte|exécute|attaque)\b[^.\n]{0,80}\?
    je (?:mets|fais|modifie|renomme|crée|passe|m'en occupe)\b[^.\n]{0,80}\?
    (?:cela|ça) (?:te|vous) (?:convient|va)\b
    (?:d'accord|on y va)\b[^.\n]{0,20}\?
    """,
    onward=r"""
    (?:continu\w+|poursui\w+|procède|procéder|commence\w*|démarre\w*|m'y mett\w+|avance\w*|enchaîne\w*\
    |termin\w+|fini\w+|le fass\w+|m'occupe\w*)\b
    """,
    checks=r"""
    (?:lanc\w+|exécut\w+|relanc\w+|fass\w+ tourner) (?:\w+ ){0,2}(?:tests?|suite|build|linter)\b
    """,
    applies=r"""
    (?:appliqu|implément|corrig|fass|modifi|répar)\w*[^.?\n]{0,20}\b(?:cette|ce|ces|la|le|les|l'\
    |cela) ?(?:correction|correctif|modification|changement|bug|erreur|problème|patch)?
    """,
    extra=r"""
    (?:autre chose|quelque chose|quoi que ce soit|d'autres|supplémentaire|davantage|différent|optionnel\
    |expliqu|détaill|amélior|ajust|commit|pull request|prochaine? (?:tâche|ticket|fonctionnalité)\
    |similaire|plutôt|en plus)
    """,
    lead=r"""
    (?:ensuite|maintenant|puis|après|et|donc|alors|bien|parfait|ok|d'abord|enfin|prochaine étape\
    |à présent|à la prochaine étape|super|aussi)\b
    """,
    promise=r"""
    (?:je|nous) (?:vais|allons)\b
    (?:je|nous) (?:\w+'?)? ?\w+(?:erai|irai|rai|rons)\b
    (?:il me reste à|je dois encore|je passe (?:maintenant |ensuite )?(?:à|aux?)\
    |passons (?:maintenant )?(?:à|aux?)|j'attaque)
    je m'occupe\b
    """,
    nexts=r"""
    (?:ensuite|maintenant|puis),? je (?:lance|passe|mets|ajoute|fais|corrige|vérifie|termine|m'occupe\
    |renomme|modifie)\b
    """,
    doing=r"""
    laisse(?:z)?[- ]moi\b
    (?:voyons|regardons|vérifions|corrigeons|ajoutons|modifions|lançons|exécutons|mettons)\b
    je (?:vérifie|regarde|corrige|modifie|lance|relance|ajoute|mets|lis|cherche|exécute|crée\
    |remplace) (?:maintenant|d'abord|ensuite|à présent|le|la|les|l')
    """,
    acts=r"""
    je (?:vérifie|regarde|corrige|modifie|lance|ajoute|mets|lis|cherche|exécute|crée\
    |remplace)\b[^.\n]{1,120}:\W*$
    """,
    idle=r"""
    (?:attend|ne\b|n'|laiss|arrêt|rest(?:e|erai)\b|tiens|disposition|pas\b|besoin|recommand|suggèr|vous\b\
    |tu\b|te\b|surveill|répond|résum|expliqu|heureux|ravi)
    """,
    filler=r"""
    (?:cela|ça|c'est) (?:ne )?(?:devrait|prendra|prend|va)\b[^.\n]{0,60}(?:temps|minutes?|instants?\
    |long\w*)
    je (?:reviens|(?:te|vous) (?:tiens|préviens|tiendrai|préviendrai|dirai)|ferai le point)\b
    (?:un (?:instant|moment)|merci de patienter|à tout de suite)\b
    """,
    hinges=r"""
    (?:si|dès que|dès|quand|lorsque|une fois|après (?:votre|ta|la|le)|jusqu|tant que|à moins)\b
    """,
    yours=r"""
    (?:dis|dites|merci de|s'il (?:te|vous) plaît|veuillez|peux-tu|pouvez-vous|indique|envoie|donne\
    |besoin de|attend)
    (?:votre|ton|ta) (?:accord|validation|confirmation|décision|réponse|feu vert)\b
    """,
    later=r"""
    (?:optionnel|plus tard|ultérieur|futur|un jour|demain|hors (?:périmètre|sujet|scope)|volontairement\
    |comme (?:demand|convenu)|si (?:tu|vous|besoin|nécessaire)|pourra|pourrait|sugg|recommand|idée\
    |inchang|manuel|pas demand|prochaine? (?:version|sprint|fois|pr))
    """,
    done=r"""
    (?:terminé|fini|fait|prêt|complet|en place|c'est (?:bon|fait|terminé))e?s?\b
    (?:fonctionne|marche)(?:nt)?\b
    (?:est|sont) (?:maintenant |désormais )?(?:corrig|implément|répar|mis|ajout|résolu|opérationnel)\w*
    """,
    made=r"""
    j'ai (?:bien |aussi |donc |également )?(?!essay|tent|pas|besoin|trouv|vu|regard|vérifi|lanc)\w+(?:é|i\
    |u|it|is|ert)(?:e?s?)\b
    (?:a|ont) (?:bien )?été (?!laiss)\w+(?:é|i|u|it|is)(?:e?s?)\b
    """,
    amiss=r"""
    (?:échou|échec|erreur|cass|plant|exception|problème|bug\b|rouge|impossible|malheureusement|bloqu\
    |incomplet|partiel|avertissement|timeout|délai|connu|manqu|reste\b|restant)
    (?:ne (?:passe|fonctionne|marche|compile|démarre)(?:nt)? (?:pas|plus)|n'a(?:i)? pas|n'ont pas\
    |pas (?:pu|réussi|encore|vert))
    """,
    mended=r"""
    (?:corrig|résol|répar|gèr|gér)\w* (?:\w+ |l'|d'){0,3}(?:erreur|bug|problème|plantage|échec)\w*
    (?:gestion|messages?) d(?:es |')erreurs?\b
    (?:sans|aucune?) (?:erreur|problème|avertissement)s?\b
    (?:0|zéro|aucune?) (?:échecs?|erreurs?)\b
    """,
    passes=r"""
    (?:tous |toute )?(?:les |la )?(?:tests|suite(?: de tests)?)\b[^.\n]{0,30}\b(?:passent|passe\
    |sont (?:au vert|verts)|est (?:au vert|verte)|réussissent)\b
    \d+ (?:tests? )?(?:réussis?|passés?|passent|au vert|verts?)\b
    `[^`\n]{1,80}` (?:est (?:au )?verte?|passe|réussit)\b
    """,
    told=r"""
    `[^`\n]{1,80}` (?:est (?:au )?verte?|passe|réussit)\b
    (?:vérifié|lancé|exécuté) (?:avec )?`[^`\n]{1,80}`
    """,
    denies=r"""
    (?:ne|n'|pas|aucune?|jamais|mais|cependant|toutefois|sauf|sans|encore|seulement|déjà|presque\
    |bien que)(?:\b|(?<='))
    (?:si|quand|lorsque|dès que|avant|devrai\w*|doit|doivent|pourrai\w*|sera|seront|faut|une fois)\b
    """,
    rest=r"""
    (?:il )?reste(?:nt)?\b
    (?:restant|à faire|en attente|pas encore|manque(?:nt)?|prochaines étapes|non (?:fait|traité|migré\
    |terminé))\w*
    """,
    alike=r"""
    (?:le reste|les autres|restant\w*)\b[^.\n]{0,80}\b(?:même|pareil\w*|similaire\w*|identique\w*\
    |de façon analogue)\b
    """,
    choice=r"""
    (?:quel(?:le)?s?|lequel|laquelle|préfèr\w*|préfér\w*|option\w*|alternative\w*|choix|chois\w+|déci\w+\
    |plutôt|clients?|risque\w*|compatib\w*|impact\w*|cependant|ampleur|heures|jours|contrat\
    |api publique)\b
    """,
    either=r"""
    ou\b
    """,
    unclear=r"""
    (?:ambigu|pas (?:clair|sûr)|incertain|deux (?:interprétations|façons|lectures)|précis|entend(?:s|ez)\
    |clarifi|interprét|que voulez-vous dire)
    """,
    rights=r"""
    (?:mot de passe|identifiant|clé (?:api|d'accès|ssh)|token|jeton|accès|secret|permission|autoris\
    |droits?\b|connexion|certificat|authentif)
    """,
    risky=r"""
    (?:supprim|effac|détrui|écras|irréversible|production|prod\b|déploi|déploy|publi|release|push|pouss\
    |fusion|merge|migr|base de données|table\b|commit|coût|pay|factur|euro|€|staging|réinitialis|redémarr\
    |désactiv|sauvegarde|force|e-?mail|courriel|vid(?:er|e)\b|drop\b)
    """,
    outside=r"""
    (?:j'attends|attendre|en attente|attend (?:la|une|votre|ta|que|l')|relecture\
    |bloqu|revue|review|ci\b|pipeline|en cours|arrière-plan|prend(?:ra)? environ|dns\
    |panne|indisponible|mainteneur)
    """,
    cannot=r"""
    (?:impossible|pas possible|infaisable|pas (?:pris en charge|supporté|faisable)|aucun moyen\
    |n'existe pas|ne permet pas)
    (?:contradi\w+|s'excluent|inconciliable\w*|incompatibles)\b
    """,
    lacks=r"""
    (?:il )?(?:me |nous )?manqu(?:e|ent|ant\w*)\b
    (?:je n'ai|nous n'avons) (?:pas|aucune?)\b
    (?:sans|aucune?|besoin|expir\w*|refus\w*|invalide|interdit)\b
    pas (?:de|défini|configur|connect|autoris|renseign)\w*
    pas d'
    (?:ne (?:peux|puis)|n'ai pas pu|impossible)\b
    (?:merci de|veuillez|peux-tu|pouvez-vous|peux tu|40[13])\b
    """,
    mild=r"""
    (?:commit|merge|migr|push|release|table\b|base de données|désactiv|sauvegarde|staging|redémarr\
    |e-?mail|courriel)
    """,
    work=r"""
    (?:ajoute|corrige|répare|implémente|crée|écris|mets|modifie|change|remplace|renomme|supprime|migre\
    |porte|déplace|convertis|refactore|refactorise|extrais|installe|configure|active|désactive|optimise\
    |nettoie|traduis|termine|finis|continue|fais|lance|utilise|simplifie|documente|génère|adapte|rends\
    |intègre|passe)(?:z|r)?[ -](?!(?:est|sont|fonctionne)\b)
    (?:ajouter|corriger|réparer|implémenter|créer|écrire|mettre à jour|modifier|remplacer|renommer\
    |supprimer|migrer|convertir|refactoriser|déplacer|ajoutez|corrigez|écrivez|mettez|créez|modifiez\
    |faites|convertissez)\b
    (?:doit|doivent|il faut)\b
    (?:vas-y|oui|continue)\b
    """,
    wonder=r"""
    (?:pourquoi|comment|que|quel(?:le)?s?|qu'|qui|où|quand|combien|est-ce que|explique(?:z)?|décri[st]?\
    |décrivez|montre(?:z)?[- ]moi|analyse(?:z)?|vérifie(?:z)? (?:si|pourquoi|comment)\
    |trouve(?:z)? pourquoi|compare(?:z)?|résume(?:z)?|regarde(?:z)? (?:si|pourquoi)|enquête|examine(?:z)?\
    |cherche(?:z)? (?:pourquoi|où)|dis[- ]moi|dites[- ]moi|liste(?:z)?)\b
    """,
    holds=r"""
    (?:demande|montre)(?:z)?[- ]moi (?:avant|d'abord)
    (?:avant de (?:modifier|continuer|changer|faire|toucher)|attends? (?:mon|ma|que)|attendez\
    |ne (?:modifie|change|touche|fais|corrige)\w* (?:rien|pas)|sans (?:rien )?(?:modifier|changer)\
    |seulement (?:un plan|analys|proposer)|juste (?:un plan|analys)|arrête|arrêtez|propose(?:z)? d'abord\
    |pas à pas|étape par étape|un plan|mon (?:accord|feu vert|avis)|ma validation)
    """,
    spares=r"""
    (?:ne|pas|sauf|sans|excepté|hormis|plus tard|laisse\w*)\b
    n'
    """,
    every=r"""
    (?:tous|toutes|chaque|les deux|ensemble|partout|entier\w*|\d+|deux|trois|quatre|cinq|six|sept|huit\
    |neuf|dix|étapes?|phases?)\b
    """,
    red=r"""
    (?:reprodui\w*|test (?:rouge|qui échoue)|tdd)
    """,
    common="le la les des est et une du que dans pour pas je vous tu sur avec qui ne ce sont au",
    cut="le la les un une des du de et ou mais dans puis aux",
    stop="""
    le la les un une des du de et ou est sont pas que qui dans pour je vous tu il elle on nous sur avec ne
    ce cette ces au aux en se
    sa son ses mon ma mes votre vos ton ta tes leur leurs aussi maintenant ensuite puis alors si souhaitez
    souhaites voulez veux voudriez
    aimerais dois puis peux peut faut continue continuer continuerai poursuivre poursuive procède procéder
    commencer terminer
    finir faire fasse reste restant restants restantes autres autre tous toutes tout chaque encore déjà
    ajouter ajoute écrire
    écrive créer crée implémenter implémente corriger corrige mettre mette jour modifier modifie lancer
    lance
    exécuter fichier fichiers code projet nouveau nouveaux nouvelle étape étapes partie parties travail
    tâche vais
    allons comme plus là ici prochaine jour manque manquent
    """,
)
