"""A real llama.cpp server, from a wheel, with a tiny model that is written here.

The model knows only which token comes after which: left alone it says `Yes.`; where a grammar does not let it stop
there, it calls a tool; a text in JSON is `no`. So tests know what it says, and everything else is llama.cpp's own.
"""

from __future__ import annotations

import atexit
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

MODEL = "tiny"
CONTEXT = 8192
WIDTH, HEADS, INNER = 64, 4, 64
START, END, CALL = "<s>", "</s>", "<tool_call>"
NEXT = {
    "<0x0A>": ("Y", "<"),  # the last of a prompt, and what comes before the end of a call
    "Y": ("e",),
    "e": ("s",),
    "s": (".",),
    ".": (END, CALL),
    CALL: ("<0x0A>",),
    '"': ("n", '"'),
    "n": ("o",),
    "o": ('"',),
    "}": ("}", END, "<0x0A>"),
    ">": (END,),
} | dict.fromkeys("0123456789", ("}", ","))
"""The tokens that follow one, the likeliest first."""
TEMPLATE = """\
{%- if tools %}<|im_start|>system
<tools>{% for tool in tools %}
{{ tool | tojson }}{% endfor %}
</tools>
For each call answer with <tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call><|im_end|>
{% endif %}
{%- for message in messages %}<|im_start|>{{ message.role }}
{{ message.content }}
{%- for call in message.tool_calls or [] %}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>{% endfor %}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
"""As Qwen's and others': a call of a tool is JSON between two marks."""


def write_model(path: Path) -> Path:
    """A llama of some hundred kilobytes, whose tokens are letters and bytes. Its one layer adds nothing: what comes out
    depends on the last token alone."""
    import numpy as np
    from gguf import GGUFWriter, TokenType

    letters = ["▁", *map(chr, range(0x21, 0x7F))]
    tokens = ["<unk>", START, END, CALL, *(f"<0x{byte:02X}>" for byte in range(256)), *letters]
    types = [TokenType.UNKNOWN, TokenType.CONTROL, TokenType.CONTROL, TokenType.USER_DEFINED]
    types += [TokenType.BYTE] * 256 + [TokenType.NORMAL] * len(letters)
    writer = GGUFWriter(path, "llama")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types(types)
    writer.add_bos_token_id(tokens.index(START))
    writer.add_eos_token_id(tokens.index(END))
    writer.add_add_bos_token(True)
    writer.add_chat_template(TEMPLATE)

    embeddings = np.random.default_rng(7).normal(0, 1, (len(tokens), WIDTH)).astype(np.float32)
    embeddings[:, : len(NEXT)] = 0  # a dimension for each that is told what follows it, so that none is mistaken
    output = np.zeros_like(embeddings)
    for place, (before, after) in enumerate(NEXT.items()):
        embeddings[tokens.index(before)] = np.eye(WIDTH)[place]
        for rank, token in enumerate(after):
            output[tokens.index(token), place] = 8 - 2 * rank
    for letter in letters[1:]:  # as a byte it is the same
        embeddings[tokens.index(f"<0x{ord(letter):02X}>")] = embeddings[tokens.index(letter)]
    weights = {"token_embd": embeddings, "output": output}
    weights |= {name: np.ones(WIDTH, np.float32) for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm")}
    for name in "attn_q attn_k attn_v attn_output ffn_gate ffn_up ffn_down".split():
        weights[f"blk.0.{name}"] = np.zeros((WIDTH, WIDTH), np.float32)
    for name, values in weights.items():
        writer.add_tensor(f"{name}.weight", values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


_SERVE = """
import sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.model_alias, params.n_ctx = sys.argv[1], [sys.argv[2]], int(sys.argv[3])
params.port, params.warmup, params.use_jinja, params.n_parallel, params.verbosity = 0, False, True, 1, -1
params.cpuparams.n_threads = 1
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""


@contextmanager
def started(model: Path) -> Iterator[str]:
    """Its address, with the `/v1`. In a process of its own: what goes wrong in C++ does not end the tests."""
    command = [sys.executable, "-c", _SERVE, str(model), MODEL, str(CONTEXT)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stdin is not None and process.stderr is not None
        try:
            address = process.stdout.readline().strip()
            if not address:
                raise RuntimeError(f"llama.cpp did not start: {process.stderr.read()[-2000:]}")
            yield f"{address}/v1"
        finally:
            process.kill()


@cache
def server() -> str:
    """The address of one for all tests of this process."""
    folder = tempfile.TemporaryDirectory(prefix="agent-memory-llama-")
    atexit.register(folder.cleanup)
    running = started(write_model(Path(folder.name) / "tiny.gguf"))
    atexit.register(running.__exit__, None, None, None)
    return running.__enter__()
