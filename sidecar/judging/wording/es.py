"""Spanish."""

from __future__ import annotations

from typing import Final

from sidecar.judging.wording.form import Words

WORDS: Final = Words(
    leave=r"""
    (?:quieres|quiere|deseas|desea|te gustaría|le gustaría|prefieres|prefiere) que\b
    (?:debo|debo yo|puedo|debería|podría yo|continúo|procedo|sigo|empiezo|lo hago)\b
    te parece (?:bien|si)\b
    (?:avísame|dime|házmelo saber|avíseme|dígame) si\b
    si (?:quieres|quiere|lo deseas|te parece|prefieres)\b[^.\n]{0,20}\b(?:puedo|continúo|sigo|hago|\w+é)\b
    puedo\b[^.\n]{0,120}\bsi (?:quieres|quiere|lo deseas)\b
    está bien si\b
    ¿\w+o (?:el|la|los|las|un|una|esto|eso|estos|estas|también|ahora|ya)\b
    ¿(?:te|le) parece (?:bien|correcto)
    ¿(?:de acuerdo|vamos|seguimos)\b
    """,
    onward=r"""
    (?:continú\w*|continu\w+|proced\w+|siga|sigo|seguir|prosiga|proseguir|empie\w+|empezar|comien\w+\
    |comenzar|adelante|termin\w+|complet\w+|lo haga|me encargue)\b
    """,
    checks=r"""
    (?:ejecut|corr|lanc|lanz|pas)\w* (?:\w+ ){0,2}(?:tests?|pruebas|suite|build|linter)\b
    """,
    applies=r"""
    (?:apli(?:que|car)|implement\w+|corri(?:ja|jo)|corregir|haga|hacer\
    |arregl\w+) (?:\w+ ){0,1}(?:est[aeo]s?|el|la|los|las|lo) ?(?:corrección|cambios?|arreglo|error|bug\
    |problema|parche)?
    """,
    extra=r"""
    (?:algo más|alguna otra|algún otro|otra cosa|adicional|más detalles|diferente|opcional|expli|mejor\
    |ajust|commit|pull request|próxima? (?:tarea|ticket|función)|similar|en lugar|extra\b)
    """,
    lead=r"""
    (?:ahora|luego|después|a continuación|entonces|y|bien|perfecto|ok|vale|primero|por último|finalmente\
    |siguiente paso|el siguiente paso es|también|genial|excelente)\b
    """,
    promise=r"""
    (?:voy|vamos) a\b
    (?:yo )?(?:lo |la |los |las |me )?(?!qued|estar)\w{2,}(?:aré|eré|iré|dré|ré)\b
    (?:procedo a|paso a|pasamos a|me falta|me queda|sigo con|continúo con|seguimos con)\b
    """,
    nexts=r"""
    (?:a continuación|ahora|luego|después|enseguida),? (?:lo |la |los |las )?(?!no |es |est|ya |cuando\
    |se )\w{2,}(?:o|oy) (?:el|la|los|las|`|un|con|a)
    """,
    doing=r"""
    (?:déjame|permíteme|déjeme|permítame|veamos|vamos a (?:ver|revisar|comprobar)|revisemos|comprobemos)\b
    (?:reviso|compruebo|actualizo|corrijo|modifico|añado|agrego|ejecuto|leo|busco|creo|edito) (?:ahora\
    |primero|el|la|los|las)\b
    """,
    acts=r"""
    (?:reviso|compruebo|miro|actualizo|corrijo|modifico|añado|agrego|ejecuto|leo|busco|creo|edito\
    |aplico)\b[^.\n]{1,120}:\W*$
    """,
    idle=r"""
    (?:esper|no\b|dej|par(?:o|aré)\b|quedo|quedaré|estaré|disposición|necesit|recomiend|recomend|suger\
    |sugier|usted|tú\b|te\b|responderé|resum|explic|encantad)
    """,
    filler=r"""
    (?:esto )?(?:no )?(?:tardará|tardaré|debería tardar|llevará|tomará)\b
    (?:te|le|os) (?:aviso|avisaré|cuento|contaré|mantendré|informo|informaré|digo)\b
    (?:un momento|ahora vuelvo|vuelvo en)\b
    (?:luego|después) (?:te|le) \w+\b
    """,
    hinges=r"""
    (?:si|cuando|en cuanto|una vez|hasta que|mientras|a menos que|después de (?:tu|su|la|que))\b
    """,
    yours=r"""
    (?:dime|dígame|avísame|por favor|puedes|podrías|indícame|envíame|necesito|confirma\w*|espero\
    |esperando)\b
    (?:tu|su) (?:aprobación|confirmación|decisión|respuesta|visto bueno)\b
    """,
    later=r"""
    (?:opcional|más adelante|futur|algún día|mañana|fuera de(?:l)? alcance|a propósito|intencion\
    |como (?:pediste|acordamos|solicit)|si (?:quieres|hace falta|deseas|es necesario)|podría|sugier|suger\
    |recomiend|idea|sin cambios|manual|no (?:pediste|solicit)|próxim[ao] (?:versión|sprint|vez|pr))
    """,
    done=r"""
    (?:listo|hecho|terminado|completado|completo|finalizado)[as]?s?\b
    (?:funciona|funcionan)\b
    (?:está|están|queda|quedan|quedó) (?:ya |ahora )?(?:corregid|implementad|arreglad|actualizad|list\
    |resuelt|complet)\w*
    """,
    made=r"""
    (?:he|hemos) (?:ya |también )?(?!intentad|probad|podid|vist|encontrad|revisad|ejecutad)(?:\w+(?:ado\
    |ido)|hecho|escrito|resuelto|puesto)\b
    (?:ha|han) sido (?:\w+(?:ad|id)[oa]s?|escrit[oa]s?|resuelt[oa]s?)\b
    (?:añadí|agregué|corregí|arreglé|implementé|actualicé|creé|escribí|cambié|modifiqué|reemplacé\
    |renombré|eliminé|migré|moví|completé|terminé|refactoricé|convertí|configuré|instalé)\b
    """,
    amiss=r"""
    (?:fall|error|rot[oa]\b|romp|excepción|problema|bug\b|imposible|lamentablemente|desafortunadamente\
    |bloque|incomplet|parcial|advertencia|timeout|conocid|pendiente|falta|rojo)
    (?:no (?:pasa|funciona|compila|arranca|se (?:pudo|puede|ha)|pude|he podido|logr|está)n?)\b
    """,
    mended=r"""
    (?:corr[ei][gj]|arregl|resuel|resolv|solucion|maneja)\w* (?:\w+ ){0,3}(?:error|fallo|bug|problema)\w*
    (?:manejo|mensajes?) de errore?s?\b
    (?:sin|ningún) (?:error|errores|problemas?|advertencias?)\b
    (?:0|cero|ningún) (?:fallos?|errore?s?)\b
    """,
    passes=r"""
    (?:tod[oa]s )?(?:los |las )?(?:tests|pruebas)\b[^.\n]{0,30}\b(?:pasan|pasaron|están en verde)\b
    \d+ (?:de \d+ )?(?:tests? |pruebas )?(?:pasan|pasaron|superad\w+|aprobad\w+|correct\w+|en verde)\b
    `[^`\n]{1,80}` (?:pasa|está en verde|termina bien|en verde)\b
    """,
    told=r"""
    `[^`\n]{1,80}` (?:pasa|está en verde|termina bien|en verde)\b
    (?:verificado|comprobado|ejecuté) (?:con )?`[^`\n]{1,80}`
    """,
    denies=r"""
    (?:no|ni|nunca|ningún|ninguna|pero|sin embargo|aunque|excepto|salvo|sin|todavía|aún|solo|sólo\
    |ya estaba|casi)\b
    (?:si|cuando|en cuanto|antes|debería\w*|debe|deben|podría\w*|será|hasta)\b
    """,
    rest=r"""
    (?:quedan?|faltan?|resta|restan)\b
    (?:pendiente|restante|por hacer|todavía no|aún no|sin (?:hacer|migrar|terminar)|próximos pasos)\w*
    """,
    alike=r"""
    (?:el resto|l[oa]s demás|l[oa]s otr[oa]s|restantes?)\b[^.\n]{0,80}\b(?:mism[oa]|igual\w*|similar\w*\
    |análog\w*)\b
    """,
    choice=r"""
    (?:cuál|cuáles|qué (?:opción|prefier\w+|enfoque)|prefier\w+|opción|opciones|alternativa\w*|decid\w+\
    |decisión|elegir|elige|clientes?|riesgo\w*|compatib\w*|impacto|sin embargo|horas|días|contrato\
    |api pública|en lugar|rompería)\b
    """,
    either=r"""
    (?:o|u)\b
    """,
    unclear=r"""
    (?:ambigu|no (?:está claro|queda claro|estoy seguro)|dos (?:interpretaciones|formas|lecturas)\
    |te refieres|se refiere|aclar|interpret|especific)
    """,
    rights=r"""
    (?:contraseña|credencial|clave (?:api|de api|de acceso|ssh)|api key|token|acceso|secreto|permiso\
    |autoriz|inicia\w* sesión|certificado|autentic|aprob)
    """,
    risky=r"""
    (?:elimin|borr|destru|sobrescrib|irreversible|producción|prod\b|despleg|despliegu|public|release|push\
    |subir|fusion|merge|migr|base de datos|tabla\b|commit|cost|cuesta|pag(?:o|ar)|factur|euro|dólar|€\
    |\$\d|staging|reinici|desactiv|copia de seguridad|forz|correo|e-?mail|vaciar|drop\b|purg)
    """,
    outside=r"""
    (?:esper|bloquead|revisión|revisor|review|ci\b|pipeline|en curso|en segundo plano|tarda|dns|caíd\
    |no disponible|mantenedor)
    """,
    cannot=r"""
    (?:imposible|no es posible|no se puede|inviable|no (?:está soportado|admite|soporta|permite|existe)\
    |no hay (?:forma|manera))
    (?:contradi\w+|se excluyen|incompatibles)\b
    """,
    lacks=r"""
    (?:no|ni) (?:tengo|tenemos|puedo|pude|hay|está|he podido|existe|dispongo|cuento)\b
    (?:me |nos )?falta(?:n|ba|ban)?\b
    (?:sin|necesit\w*|caduc\w*|expir\w*|deneg\w*|rechaz\w*|inválid\w*|prohibid\w*)\b
    (?:por favor|puedes|podrías|puede|podría|40[13])\b
    """,
    mild=r"""
    (?:commit|merge|migr|push|release|tabla\b|base de datos|desactiv|staging|reinici|correo|e-?mail)
    """,
    work=r"""
    (?:añade|agrega|corrige|arregla|implementa|crea|escribe|actualiza|cambia|modifica|reemplaza|sustituye\
    |renombra|elimina|borra|migra|porta|mueve|convierte|refactoriza|extrae|instala|configura|activa\
    |desactiva|optimiza|limpia|traduce|termina|completa|continúa|haz|pon|usa|simplifica|documenta|genera\
    |adapta|integra|ejecuta|pasa)\b(?! (?:cuando|en)\b)
    (?:añadir|agregar|corregir|arreglar|implementar|crear|escribir|actualizar|cambiar|modificar\
    |reemplazar|renombrar|eliminar|migrar|convertir|refactorizar|mover|terminar|completar|añada|corrija\
    |implemente|escriba|actualice|convierta|haga)\b
    (?:debe|deben|tiene que|hay que|adelante|sigue)\b
    """,
    wonder=r"""
    ¿?(?:por qué|cómo|qué|cuál(?:es)?|quién|dónde|cuándo|cuánt[oa]s?|explica(?:me)?|describe|muéstrame\
    |analiza|investiga|comprueba si|averigua|compara|resume|revisa (?:si|por qué)|dime|enumera|examina\
    |evalúa)\b
    """,
    holds=r"""
    (?:pregúntame|muéstrame (?:antes|primero)|antes de (?:cambiar|continuar|modificar|hacer|tocar|seguir)\
    |espera (?:mi|a que)|no (?:cambies|modifiques|toques|hagas|ejecutes|edites)|sin (?:cambiar|modificar\
    |tocar)|solo (?:un plan|analiza|propon|mira)|para (?:después|cuando)|detente|propón primero\
    |paso a paso|un plan|mi (?:aprobación|visto bueno|ok))
    """,
    spares=r"""
    (?:no|sin|excepto|salvo|nunca|más adelante|deja\w*)\b
    """,
    every=r"""
    (?:todos|todas|cada|ambos|ambas|enter[oa]|\d+|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|fases?\
    |pasos?)\b
    """,
    red=r"""
    (?:reprod\w*|prueba que falle|test que falle|tdd)
    """,
    common="el la los las de que y en es un una por con para del se no al lo su como está he",
    cut="el la los las un una de del y o pero en con para que al luego",
    stop="""
    el la los las de del que y o en es un una unos unas por con para se no al lo su sus tu tus mi mis como
    está están he ha han yo
    te le les me nos también ahora luego después entonces si quieres quiere deseas desea gustaría debo
    puedo continúe
    continuar continue continúo proceda proceder procedo siga sigo seguir empiece empezar termine terminar
    complete completar haga
    hacer resto restante restantes otros otras otro otra todos todas todo cada aun aún todavía ya añada
    añadir agregue agregar
    escriba escribir cree crear implemente implementar corrija corregir actualice actualizar modifique
    modificar ejecute ejecutar archivo
    archivos fichero ficheros código proyecto nuevo nuevos nueva nuevas paso pasos parte partes trabajo
    tarea voy vamos más aquí
    falta faltan queda quedan pendiente pendientes
    """,
)
