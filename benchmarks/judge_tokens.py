"""Whether a case stays within its bound by the count of real tokenizers, and how good our estimate is.

    python benchmarks/judge_tokens.py          # installs the tokenizers into the user's cache, once

Cases are drawn from many kinds of text, each filled up until it has to be cut, and put into words as for a
judge. What comes out is counted by tokenizers that carry their vocabulary with them. They are those of older
models of one maker and of current ones of another; the tokenizers of the newest models are not public.

`est / real`: the estimate for each token of the tokenizer that counts most; below 1 it is too low. The bound
is on the estimate, so a text for which it is too low may have more real tokens than the bound says.
"""

# ruff: noqa: RUF001 - letters of other languages are meant

from __future__ import annotations

import base64
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from sidecar.judging.backends.prompt import CASE_LIMIT, build_judge_prompt
from sidecar.judging.backends.tokens import estimate_tokens
from sidecar.kernel.effects import JudgeCase
from sidecar.kernel.evidence import Evidence, EvidenceStrength, FileDiff, Source
from sidecar.rubric.reader import RubricFiles

TEXTS: Final = Path(__file__).parents[1] / "rubric"
PACKAGES: Final = ("@anthropic-ai/tokenizer@0.0.4", "gpt-tokenizer@4.0.0")
NAMES: Final = ("claude (2)", "o200k", "cl100k")
INSTALL_S: Final = 300
COUNT_S: Final = 300
SCRIPT: Final = """
const claude = require('@anthropic-ai/tokenizer');
const o200k = require('gpt-tokenizer/encoding/o200k_base');
const cl100k = require('gpt-tokenizer/encoding/cl100k_base');
const plain = { allowedSpecial: new Set(), disallowedSpecial: new Set() };
const texts = JSON.parse(require('fs').readFileSync(0, 'utf8'));
const counts = texts.map((text) => [
  claude.countTokens(text), o200k.encode(text, plain).length, cl100k.encode(text, plain).length]);
process.stdout.write(JSON.stringify(counts));
"""
PROSE: Final = {
    "english": "The cart adds up in every case, and the tests show it. What was asked for is there. ",
    "german": "Der Warenkorb rechnet in jedem Fall richtig, und die Prüfungen zeigen es. Sonst nichts. ",
    "french": "Le panier est calculé correctement dans tous les cas, et les vérifications le montrent. ",
    "spanish": "El carrito suma correctamente en todos los casos y las pruebas lo demuestran; nada más. ",
    "finnish": "Ostoskori lasketaan oikein kaikissa tapauksissa, ja testit osoittavat sen hyvin. ",
    "latin": "Lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt. ",
    "russian": "Корзина считается верно, и тесты это показывают. Больше ничего не изменено. ",
    "greek": "Το καλάθι υπολογίζεται σωστά σε κάθε περίπτωση και το δείχνουν οι δοκιμές. ",
    "arabic": "تم حساب السلة بشكل صحيح والاختبارات تظهر ذلك ولم يتغير شيء آخر. ",
    "hindi": "सभी परीक्षण सफल रहे और कुछ नहीं बदला। ",
    "thai": "ตะกร้าคำนวณถูกต้องแล้วและการทดสอบแสดงให้เห็น ",
    "chinese": "购物车在所有情况下都能正确计算，测试也证明了这一点。其他部分没有改动。",
    "traditional": "購物車在所有情況下都能正確計算，測試也證明了這一點。其他部分沒有改動。",
    "japanese": "カートの合計はすべての場合に正しく計算され、テストがそれを示しています。",
    "korean": "장바구니는 모든 경우에 올바르게 계산되며 테스트가 이를 보여줍니다. ",
    "emoji": "\U0001f389\U0001f680\u2705\U0001f469\u200d\U0001f469\u200d\U0001f467\U0001f3f3\ufe0f done ",
    "minified": "var t=n(3),e=function(r){return r&&r.a?r:{default:r}};Object.freeze(o,'__esModule',{a:!0});",
    "code": "    def total(self, items: list[Item]) -> int:\n        return sum(i.price for i in items)\n\n",
    "json": '{"id":"a81bc81b-dead-4e5d-abff","price":12.5,"tags":["x"],"at":"2026-11-22T05:12:44.123Z"},',
    "trace": "  File '/app/cart.py', line 214, in total\n    at Object.<anonymous> (m.ts:33:17)\n",
    "log": "2026-11-22T05:12:44.123Z [ERROR] worker-17 0x7f3a9c21 GET /api/v2/cart?page=3 500 12ms 2/5\n",
}
"""A sentence or two of each kind, repeated."""


def drawn() -> dict[str, str]:
    """Kinds without words of any language; the same ones on every run."""
    dice = random.Random(4)  # noqa: S311 - made-up texts
    letters = "abcdefghijklmnopqrstuvwxyz"
    return {
        "base64": base64.b64encode(dice.randbytes(30_000)).decode(),
        "hex": dice.randbytes(20_000).hex(),
        "digits": "".join(dice.choices("0123456789", k=40_000)),
        "letters": "".join(dice.choices(letters, k=40_000)),
        "made-up words": " ".join("".join(dice.choices(letters, k=dice.randint(3, 9))) for _ in range(6_000)),
        "ascii": "".join(chr(dice.randint(32, 126)) for _ in range(40_000)),
        "punctuation": "".join(dice.choices("!#$%&()*+,-./:;<=>?@[]^_{|}~", k=40_000)),
        "any ideograph": "".join(chr(dice.randint(0x4E00, 0x9FA5)) for _ in range(20_000)),
        "any hangul": "".join(chr(dice.randint(0xAC00, 0xD7A3)) for _ in range(20_000)),
        "drawn ideographs": "".join(dice.choices(_level_one("gb2312", 0xD8), k=20_000)),
        "drawn hangul": "".join(dice.choices(_level_one("euc_kr", 0xC9), k=20_000)),
        "any symbol": "".join(chr(dice.randint(0x2190, 0x27BF)) for _ in range(20_000)),
        "any character": "".join(chr(dice.randint(0xA0, 0xD7FF)) for _ in range(20_000)),
    }


def _level_one(codec: str, end: int) -> str:
    """The common characters of a national encoding: those with a lead byte below `end`."""
    pairs = (bytes((lead, trail)) for lead in range(0xB0, end) for trail in range(0xA1, 0xFF))
    return "".join(pair.decode(codec, "ignore") for pair in pairs)


def filled(text: str) -> JudgeCase:
    """A case that has more of this text than there is room for."""

    def piece(number: int, length: int) -> str:
        start = number * 1_777 % max(len(text) - length, 1)
        return text[start : start + length]

    return JudgeCase(
        condition=piece(0, 1_500),
        suspicion="",
        prompts=tuple(piece(n, 2_000) for n in range(6)),
        rubric=RubricFiles(TEXTS / "rubric.md").load("/nowhere", {}),
        evidence=tuple(
            Evidence(
                id=f"E{n}",
                source=Source.TOOL,
                fact=f"the agent ran `{piece(n, 100)}`: ok",
                detail=piece(n + 40, 600),
                bad=n % 4 == 0,
                worth=EvidenceStrength.WORK,
            )
            for n in range(1, 26)
        ),
        last_message=piece(7, 20_000),
        edits=tuple(
            FileDiff(path=f"src/{n}.py", added=9, removed=3, hunks=piece(n, 2_000)) for n in range(12)
        ),
    )


def counted(texts: Iterable[str]) -> list[list[int]]:
    """What each of the tokenizers counts, for each text."""
    answer = subprocess.run(  # noqa: S603 - our own script
        (_found("node"), "-e", SCRIPT),
        input=msgspec.json.encode(list(texts)),
        cwd=_installed(),
        stdout=subprocess.PIPE,
        check=True,
        timeout=COUNT_S,
    )
    return msgspec.json.decode(answer.stdout, type=list[list[int]])


def _installed() -> Path:
    """The folder with the tokenizers, outside of the tree."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(cache) / "supervisor-tokenizers"
    if not (folder / "node_modules" / "gpt-tokenizer").is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(  # noqa: S603 - our own line
            (_found("npm"), "install", "--prefix", str(folder), "--no-audit", "--no-fund", *PACKAGES),
            check=True,
            timeout=INSTALL_S,
            stdout=subprocess.DEVNULL,
        )
    return folder


def _found(program: str) -> str:
    path = shutil.which(program)
    if path is None:
        sys.exit(f"{program} is not on PATH: install Node 20 or newer")
    return path


def main() -> None:
    """Count, print the table, and end with 1 where the bound does not hold."""
    kinds = {name: text * (40_000 // len(text) + 1) for name, text in PROSE.items()} | drawn()
    prompts = ["\n\n".join(build_judge_prompt(filled(text), TEXTS)) for text in kinds.values()]
    raw = [text[:6_000] for text in kinds.values()]
    counts = counted([*prompts, *raw])
    print(
        f"{'kind':15} {'estimate':>9} "
        + " ".join(f"{name:>11}" for name in NAMES)
        + "  est/real  of the text alone"
    )
    over: list[str] = []
    rows = zip(kinds, prompts, counts[: len(prompts)], raw, counts[len(prompts) :], strict=True)
    for name, prompt, real, text, alone in rows:
        ratio, bare = estimate_tokens(prompt) / max(real), estimate_tokens(text) / max(alone)
        columns = " ".join(f"{count:>11}" for count in real)
        print(f"{name:15} {estimate_tokens(prompt):>9} {columns} {ratio:>9.2f} {bare:>9.2f}")
        over += [name] if max(real) > CASE_LIMIT else []
    most = max(max(real) for real in counts[: len(prompts)])
    print(f"\nthe most by any tokenizer: {most} of {CASE_LIMIT}; over it: {', '.join(over) or 'none'}")
    sys.exit(bool(over))


if __name__ == "__main__":
    main()
