"""Portuguese."""

from __future__ import annotations

from typing import Final

from sidecar.judging.wording.form import Words

WORDS: Final = Words(
    leave=r"""
    (?:quer|queres|deseja|desejas|gostaria|gostarias|prefere|preferes) que\b
    (?:devo|posso|deveria|sigo|continuo|prossigo|começo)\b
    (?:tudo bem|pode ser|está bem|ok) se\b
    (?:me avise|avise-me|diga-me|me diga|me fale) se\b
    se (?:quiser|você quiser|quiseres|desejar|preferir)\b[^.\n]{0,20}\b(?:posso|continuo|sigo|faço|eu)\b
    posso\b[^.\n]{0,120}\bse (?:quiser|você|desejar)\b
    (?:adiciono|faço|aplico|corrijo|atualizo|escrevo|executo|implemento|crio|altero|mudo|rodo)\b[^.\n]{0,80}\?
    (?:pode ser|de acordo|tudo certo|vamos|seguimos)\b[^.\n]{0,20}\?
    """,
    onward=r"""
    (?:continu\w+|prossi\w+|prosse\w+|siga|sigo|seguir|come\w+ar|comece|começo|avan\w+|termin\w+\
    |complet\w+|conclu\w+|faça isso|cuide|inici\w+)\b
    """,
    checks=r"""
    (?:execut|rod|corr)\w* (?:\w+ ){0,2}(?:testes?|suíte|suite|build|linter)\b
    """,
    applies=r"""
    (?:apli(?:que|car)|implement\w+|corri(?:ja|gir|jo)|faça|fazer|arrum\w+\
    |consert\w+) (?:\w+ ){0,1}(?:ess[ae]s?|est[ae]s?|isso|isto|o|a|os|as) ?(?:correção|mudanças?\
    |alteração|alterações|erro|bug|problema|ajuste)?
    """,
    extra=r"""
    (?:algo mais|mais alguma|alguma outra|algum outro|outra coisa|adicional|mais detalhes|diferente\
    |opcional|expli|melhor|ajust|commit|pull request|próxima? (?:tarefa|ticket|funcionalidade)|similar\
    |semelhante|em vez|extra\b)
    """,
    lead=r"""
    (?:agora|depois|em seguida|a seguir|então|e|bem|perfeito|ok|certo|primeiro|por fim|finalmente\
    |próximo passo|o próximo passo é|também|ótimo)\b
    """,
    promise=r"""
    (?:eu )?(?:vou|vamos|irei|iremos)\b
    (?:eu )?(?!ficar|estar)\w{2,}(?:arei|erei|irei|rei)\b
    (?:passo (?:agora )?(?:a|para)|sigo (?:agora )?(?:com|para)|continuo com|falta-me|me falta\
    |ainda preciso)\b
    """,
    nexts=r"""
    (?:em seguida|agora|a seguir|depois),? (?:eu )?(?!não |é |est|já |quando|se )\w{2,}o (?:o|a|os|as|`\
    |um|com)
    """,
    doing=r"""
    (?:deixe-me|deixa eu|deixa-me|me deixe|permita-me|vejamos|vamos (?:ver|verificar|conferir))\b
    (?:verifico|atualizo|corrijo|modifico|adiciono|executo|leio|procuro|crio|edito) (?:agora|primeiro|o|a\
    |os|as)\b
    (?:verificando|atualizando|corrigindo|adicionando|executando|rodando|editando) [^.\n]{1,100}(?::\
    |\.\.\.)\W*$
    """,
    acts=r"""
    (?:verifico|vejo|atualizo|corrijo|modifico|adiciono|executo|rodo|leio|procuro|crio|edito\
    |aplico)\b[^.\n]{1,120}:\W*$
    """,
    idle=r"""
    (?:aguard|esper|não\b|deix(?:o|ar)\b|par(?:o|ar)\b|fico|ficar|estarei|disposição|precis(?:o|ar)\b\
    |recomend|suger|sugir|você|te\b|responder|resum|explic|feliz)
    """,
    filler=r"""
    (?:isso |isto )?(?:não )?(?:deve (?:levar|demorar)|vai (?:levar|demorar)|demora|leva)\b
    (?:te |lhe )?(?:aviso|avisarei|volto|mantenho|informo|conto)\b
    (?:um (?:momento|instante)|já volto)\b
    depois (?:te )?(?:aviso|conto|resumo)\b
    """,
    hinges=r"""
    (?:se|quando|assim que|logo que|uma vez que|até|enquanto|a menos que|após (?:a|sua|o))\b
    """,
    yours=r"""
    (?:diga|me avise|avise-me|por favor|pode|poderia|me envie|envie|preciso|confirme|aguardo|aguardando\
    |informe)\b
    (?:sua|seu|tua|teu) (?:aprovação|confirmação|decisão|resposta|ok)\b
    """,
    later=r"""
    (?:opcional|mais tarde|futur|algum dia|amanhã|fora do escopo|de propósito|intencional|como (?:pediu\
    |pedido|combinado|solicitado)|se (?:quiser|necessário|precisar|desejar)|poderia|sugir|suger|sugest\
    |recomend|ideia|inalterad|manual|não (?:pediu|solicit)|próxim[ao] (?:versão|sprint|vez|pr))
    """,
    done=r"""
    (?:pronto|feito|concluído|terminado|completo|finalizado)[as]?s?\b
    (?:funciona|funcionam|funcionando)\b
    (?:está|estão|foi|foram|ficou) (?:agora |já )?(?:corrigid|implementad|arrumad|atualizad|pront\
    |resolvid|concluíd|complet)\w*
    """,
    made=r"""
    (?:eu )?(?:adicionei|corrigi|implementei|atualizei|criei|escrevi|alterei|mudei|modifiquei|substituí\
    |renomeei|removi|migrei|movi|completei|terminei|concluí|refatorei|converti|configurei|instalei\
    |consertei|ajustei|extraí)\b
    (?:foi|foram) (?:\w+(?:ad|id)[oa]s?|escrit[oa]s?)\b
    """,
    amiss=r"""
    (?:falh|erro|quebr|exceção|problema|bug\b|impossível|infelizmente|bloque|incomplet|parcial|aviso\
    |timeout|conhecid|pendente|falta|vermelho)
    (?:não (?:passa|passou|funciona|compila|inicia|foi possível|consegui|pude|está|estão)m?)\b
    """,
    mended=r"""
    (?:corrig|resolv|consert|trat|arrum)\w* (?:\w+ ){0,3}(?:erro|falha|bug|problema)\w*
    (?:tratamento|mensage(?:m|ns)) de erros?\b
    (?:sem|nenhum) (?:erros?|problemas?|avisos?)\b
    (?:0|zero|nenhuma?) (?:falhas?|erros?)\b
    """,
    passes=r"""
    (?:todos )?(?:os )?testes\b[^.\n]{0,30}\b(?:passam|passaram|passando|estão (?:verdes|passando))\b
    \d+ (?:de \d+ )?(?:testes? )?(?:passaram|passam|passando|aprovad\w+|verdes?)\b
    `[^`\n]{1,80}` (?:passa|passou|está verde|verde)\b
    """,
    told=r"""
    `[^`\n]{1,80}` (?:passa|passou|está verde|verde)\b
    (?:verificado|verifiquei|executei|rodei) (?:com )?`[^`\n]{1,80}`
    """,
    denies=r"""
    (?:não|nem|nunca|nenhum\w*|mas|porém|contudo|embora|exceto|sem|ainda|só|apenas|já estava|quase)\b
    (?:se|quando|assim que|antes|deveri\w+|deve|devem|poderi\w+|será|até|precisa\w*)\b
    """,
    rest=r"""
    (?:faltam?|restam?|resta)\b
    (?:pendente|restante|por fazer|a fazer|ainda não|próximos passos)\w*
    """,
    alike=r"""
    (?:o restante|o resto|os demais|as demais|os outros|as outras|restantes)\b[^.\n]{0,80}\b(?:mesm[oa]\
    |igual\w*|similar\w*|análog\w*|semelhante\w*)\b
    """,
    choice=r"""
    (?:qual|quais|prefere\w*|opção|opções|alternativa\w*|decidir|decisão|escolh\w+|clientes?|risco\w*\
    |compatib\w*|impact\w*|porém|horas|dias|contrato|api pública|em vez|quebraria)\b
    """,
    either=r"""
    ou\b
    """,
    unclear=r"""
    (?:ambígu|não (?:está|ficou) claro|não tenho certeza|duas (?:interpretações|formas|leituras)\
    |quer dizer|se refere|esclare|interpret|especific)
    """,
    rights=r"""
    (?:senha|credencia|chave (?:de )?(?:api|acesso|ssh)|api key|token|acesso|segredo|permiss|autoriz\
    |login|certificado|autentic|aprova)
    """,
    risky=r"""
    (?:exclu|apag|delet|destru|sobrescrev|irrevers|produção|prod\b|implant|deploy|public|release|push\
    |mescl|merge|migr|banco de dados|tabela|commit|cust|pag(?:o|ar|amento)|fatura|reais|r\$|euro|€|\$\d\
    |staging|reinici|desativ|backup|forçar|e-?mail|esvaziar|drop\b|remov\w+ (?:todos|os dados|as))
    """,
    outside=r"""
    (?:aguard|esper|bloquead|revisão|revisor|review|ci\b|pipeline|em andamento|em segundo plano\
    |leva cerca|demora|dns|fora do ar|indispon|mantenedor)
    """,
    cannot=r"""
    (?:impossível|não é possível|não dá para|inviável|não (?:é suportado|suporta|permite|existe)\
    |não há (?:como|forma))
    (?:contradi\w+|se excluem|incompatíveis|não dá)\b
    """,
    lacks=r"""
    não (?:tenho|temos|posso|pude|consigo|consegui|há|está|existe|disponho)\b
    (?:me )?falta(?:m|va|vam)?\b
    (?:sem|preciso|expir\w*|negad\w*|recusad\w*|inválid\w*|proibid\w*)\b
    (?:por favor|pode|poderia|você pode|40[13])\b
    """,
    mild=r"""
    (?:commit|merge|migr|push|release|tabela|banco de dados|desativ|staging|reinici|e-?mail)
    """,
    work=r"""
    (?:adicion[ae]|acrescent[ae]|corri(?:ge|ja)|consert[ae]|implement[ae]|cri[ae]|escrev[ae]|atualiz[ae]\
    |alter[ae]|mud[ae]|modifi(?:ca|que)|substitu[ai]|renome(?:ia|ie)|remov[ae]|exclu[ai]|migr[ae]\
    |port[ae]|mov[ae]|convert[ae]|refator[ae]|extra[ia]|instal[ae]|configur[ae]|ativ[ae]|otimiz[ae]\
    |limp[ae]|traduz[a]?|termin[ae]|complet[ae]|continu[ae]|fa[zç]a?|us[ae]|simplifi(?:ca|que)\
    |document[ae]|ger[ae]|adapt[ae]|integr[ae]|execut[ae]|rod[ae])\b
    (?:adicionar|corrigir|consertar|implementar|criar|escrever|atualizar|alterar|modificar|substituir\
    |renomear|remover|migrar|converter|refatorar|mover|terminar|completar)\b
    (?:deve|devem|tem que|precisa|pode continuar|prossiga)\b
    """,
    wonder=r"""
    (?:por qu[eê]|como|o que|que|qual|quais|quem|onde|quando|quant[oa]s?|expli(?:ca|que)|descrev[ae]\
    |mostre-me|me mostre|analis[ae]|investig[ae]|verifique (?:se|por)|descubra|compar[ae]|resum[ae]|diga\
    |me diga|list[ae]|examin[ae]|avali[ae])\b
    """,
    holds=r"""
    (?:me pergunte|pergunte-me|mostre (?:antes|primeiro)|antes de (?:mudar|continuar|modificar|alterar\
    |fazer|mexer)|esper[ae] (?:minha|meu|eu)|aguard[ae]|não (?:mude|altere|modifique|mexa|faça|execute\
    |edite)|sem (?:mudar|alterar|modificar|mexer)|apenas (?:um plano|analis|propon)|só (?:um plano\
    |analis)|pare (?:depois|quando|após|aí)|proponha primeiro|passo a passo|um plano|minha (?:aprovação\
    |confirmação)|meu ok)
    """,
    spares=r"""
    (?:não|sem|exceto|salvo|nunca|mais tarde|deixe\w*|deixa\w*)\b
    """,
    every=r"""
    (?:todos|todas|cada|ambos|ambas|inteir[oa]|\d+|dois|duas|três|quatro|cinco|seis|sete|oito|nove|dez\
    |fases?|passos?|etapas?)\b
    """,
    red=r"""
    (?:reprodu\w*|teste que falh[ae]|tdd)
    """,
    common="o a os as de que e em um uma para com não do da no na por se foi está você eu",
    cut="o os as um uma de do da e ou mas em com para que ao",
    stop="""
    o a os as de do da dos das que e ou em um uma uns umas para com não no na nos nas por se foi está
    estão você eu ele ela
    meu minha seu sua seus suas me te lhe como também agora depois então seguida quer deseja gostaria devo
    posso continue continuar
    continuo prossiga prosseguir siga sigo seguir comece começar termine terminar complete completar
    conclua faça fazer resto
    restante restantes outros outras outro outra demais todos todas todo cada ainda já adicione adicionar
    escreva escrever crie criar
    implemente implementar corrija corrigir atualize atualizar modifique modificar altere alterar execute
    executar rode rodar arquivo
    arquivos ficheiro código projeto novo novos nova novas passo passos parte partes trabalho tarefa vou
    vamos irei mais aqui falta
    faltam resta restam pendente pendentes
    """,
)
