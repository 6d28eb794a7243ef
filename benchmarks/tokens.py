"""Is the estimate of tokens on the safe side? Compared with real tokenizers, which node runs.

    npm install --prefix benchmarks/out/tokens gpt-tokenizer llama3-tokenizer-js mistral-tokenizer-js
    .venv/bin/python benchmarks/tokens.py

Texts: LoCoMo's turns (EVAL as in ablation.py), this repository's code and pages, JSON, ids and hashes, random
characters, and a sentence in eleven languages.
"""

from __future__ import annotations

import base64
import json
import os
import random
import subprocess
import uuid
from pathlib import Path

from ablation import EVAL, HERE
from agent_memory.core.context.tokens import estimate

FOLDER = Path(os.environ.get("AGENT_MEMORY_BENCH_OUT") or HERE / "out") / "tokens"
PIECE = 1500
TOKENIZERS = ("GPT-4o", "GPT-4", "Llama 3", "Mistral 7B")
COUNT = """
import fs from 'fs';
import {encode as o200k} from 'gpt-tokenizer/encoding/o200k_base';
import {encode as cl100k} from 'gpt-tokenizer/encoding/cl100k_base';
import llama from 'llama3-tokenizer-js';
import mistral from 'mistral-tokenizer-js';
const texts = JSON.parse(fs.readFileSync('texts.json'));
const none = {disallowedSpecial: new Set()};
fs.writeFileSync('counts.json', JSON.stringify(texts.map(text => [
  o200k(text, none).length, cl100k(text, none).length,
  llama.encode(text, {bos: false, eos: false}).length, mistral.encode(text, false, false).length])));
"""
LANGUAGES = (
    "数据库昨天出现故障，我们切换到备用节点，恢复正常。",
    "昨日データベースが落ちたので、予備のノードに切り替えました。",
    "Вчера база данных упала, мы переключились на резервный узел.",
    "تعطلت قاعدة البيانات أمس وانتقلنا إلى العقدة الاحتياطية.",
    "Gestern ist die Datenbank ausgefallen; wir haben auf den Ersatzknoten umgeschaltet.",
    "Hier la base de données est tombée ; nous avons basculé sur le nœud de secours.",
    "कल डेटाबेस बंद हो गया था, हमने बैकअप नोड पर स्विच किया।",
    "어제 데이터베이스가 다운되어 예비 노드로 전환했습니다.",
    "เมื่อวานฐานข้อมูลล่ม เราจึงสลับไปยังโหนดสำรอง",
    "אתמול מסד הנתונים נפל ועברנו לצומת הגיבוי.",
    "Χθες έπεσε η βάση δεδομένων και μεταβήκαμε στον εφεδρικό κόμβο.",
)


def pieces(paths: list[Path]) -> list[str]:
    texts = [path.read_text("utf-8") for path in paths]
    return [text[start : start + PIECE] for text in texts for start in range(0, len(text), PIECE)]


def corpus() -> dict[str, list[str]]:
    chance = random.Random(1)
    talks = [sample["conversation"] for sample in json.loads((EVAL / "locomo" / "locomo10.json").read_text("utf-8"))]
    sessions = [session for talk in talks for name, session in talk.items() if isinstance(session, list)]
    root = HERE.parent
    return {
        "chat": [turn["text"] for session in sessions for turn in session],
        "code": pieces(sorted((root / "src").rglob("*.py"))),
        "Markdown": pieces(sorted((root / "docs").rglob("*.md"))),
        "JSON": pieces([HERE / "operations" / "operations.jsonl"]),
        "languages": list(LANGUAGES),
        "ids and hashes": [
            text
            for _ in range(200)
            for text in (
                " ".join(str(uuid.UUID(int=chance.getrandbits(128))) for _ in range(10)),
                base64.b64encode(chance.randbytes(300)).decode(),
                chance.randbytes(200).hex(),
            )
        ],
        "random ideographs": ["".join(chr(chance.randint(0x4E00, 0x9FFF)) for _ in range(100)) for _ in range(200)],
    }


def main() -> None:
    texts = corpus()
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "texts.json").write_text(json.dumps([text for found in texts.values() for text in found]), "utf-8")
    (FOLDER / "count.mjs").write_text(COUNT, "utf-8")
    subprocess.run(["node", "count.mjs"], cwd=FOLDER, check=True)
    counts = iter(json.loads((FOLDER / "counts.json").read_text("utf-8")))
    print("| texts | " + " | ".join(f"{name}: never more, estimate ÷ count" for name in TOKENIZERS) + " |")
    print("|---" * (len(TOKENIZERS) + 1) + "|")
    for name, found in texts.items():
        rows = [(estimate(text), next(counts)) for text in found]
        cells = []
        for place in range(len(TOKENIZERS)):
            safe = sum(ours >= theirs[place] for ours, theirs in rows) / len(rows)
            ratio = sum(ours for ours, _ in rows) / sum(theirs[place] for _, theirs in rows)
            cells.append(f"{100 * safe:.1f} %, {ratio:.2f}")
        print(f"| {name} ({len(rows)}) | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
