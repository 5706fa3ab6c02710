"""The tokenizer: Gemma's pipeline (BPE with byte fallback, spaces as U+2581) over a small vocabulary."""

import json
from pathlib import Path

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

import questions
import scenes

VOCABULARY = 1024
SPACE = "\u2581"
# ids as in the published vocabulary
FIXED = {"<pad>": 0, "<eos>": 1, "<bos>": 2, "<unk>": 3, "<mask>": 4, "<|tool>": 46, "<tool|>": 47, "<|tool_call>": 48,
         "<tool_call|>": 49, "<|tool_response>": 50, "<tool_response|>": 51, '<|"|>': 52, "<|think|>": 98,
         "<|channel>": 100, "<channel|>": 101, "<|turn>": 105, "<turn|>": 106}
NEWLINE = 107  # the first entry after the fixed block
MEDIA = ("<|image>", "<|audio>", "<|image|>", "<|audio|>", "<image|>", "<audio|>", "<|video|>")
MEDIA_IDS = {token: VOCABULARY - len(MEDIA) + i for i, token in enumerate(MEDIA)}
NAMES = {
    "image_token": "<|image|>", "boi_token": "<|image>", "eoi_token": "<image|>", "audio_token": "<|audio|>",
    "boa_token": "<|audio>", "eoa_token": "<audio|>", "sot_token": "<|turn>", "eot_token": "<turn|>",
    "soc_token": "<|channel>", "eoc_token": "<channel|>", "think_token": "<|think|>", "escape_token": '<|"|>',
    "str_token": "<|tool_response>", "etr_token": "<tool_response|>", "stc_token": "<|tool_call>",
    "etc_token": "<tool_call|>", "std_token": "<|tool>", "etd_token": "<tool|>",
}

COMMON = """the of and to in is it you that he was for on are with as his they be at one have this from or had by hot but some what
there we can out other were all your when up use word how said an each she which do their time if will way about many then them
would write like so these her long make thing see him two has look more day could go come did my sound no most number who over know
water than call first people may down side been now find any new work part take get place made live where after back little only
round man year came show every good me give our under name very through just form much great think say help low line before turn
cause same mean differ move right boy old too does tell sentence set three want air well also play small end put home read hand
port large spell add even land here must big high such follow act why ask men change went light kind off need house picture try us
again animal point mother world near build self earth father system user model turn"""


def corpus() -> list[str]:
    lines = []
    for wordings in questions.WORDINGS.values():
        for wording in wordings:
            for shape in scenes.SHAPES:
                for colour in scenes.COLOURS:
                    text = wording.format(a=shape, b="circle", c=colour, t="00:01")
                    lines += [text, text.replace("colour", "color")]
    answers = [f"a {c} {s} left of a {c} {s} above right below top middle bottom" for c in scenes.COLOURS for s in scenes.SHAPES]
    answers += [f"the {c} {s} moves {d}" for c in scenes.COLOURS for s in scenes.SHAPES for d in scenes.DIRECTIONS]
    answers += ["white gray black", "low high low high", "yes no", "one two three four shapes, two beeps, one shape, one beep"]
    lines += answers * 4 + list(questions.OUTSIDE) * 3 + [w + " " + w.capitalize() for w in questions.WORDS]
    lines += list(questions.GREETINGS) * 3 + list(questions.THANKS) * 3
    lines += [questions.UNKNOWN, questions.GREETING, questions.WELCOME] * 10
    lines += ["user\n", "model\n", "system\n"] * 4 + [" ".join(COMMON.split())] * 2
    return lines


def build() -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Vocabulary and merges. Merges never cross a word's start, a digit, a mark or a line's end."""
    learner = Tokenizer(models.BPE())
    learner.normalizer = normalizers.Replace(" ", SPACE)
    learner.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split("\n", "isolated"), pre_tokenizers.Split(SPACE, "merged_with_next"),
        pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.Punctuation("isolated"),
    ])
    letters = [chr(code) for code in range(33, 127)] + [SPACE]
    trainer = trainers.BpeTrainer(vocab_size=VOCABULARY, min_frequency=2, show_progress=False, special_tokens=[],
                                  initial_alphabet=letters)
    learner.train_from_iterator(corpus(), trainer)
    state = json.loads(learner.to_str())["model"]

    names = [f"<unused{i}>" for i in range(NEWLINE)]
    for token, index in FIXED.items():
        names[index] = token
    names += ["\n" * n for n in range(1, 9)] + [SPACE * n for n in range(2, 9)]
    names += [f"<0x{byte:02X}>" for byte in range(256)]
    known = set(names)
    room = VOCABULARY - len(MEDIA)
    for piece in sorted(state["vocab"], key=state["vocab"].get):
        if piece not in known and len(names) < room:
            names.append(piece)
            known.add(piece)
    names += [f"<unused{i}>" for i in range(len(names), room)]
    names += MEDIA
    vocabulary = {name: index for index, name in enumerate(names)}
    assert len(vocabulary) == VOCABULARY
    merges = [("\n" * (n - 1), "\n") for n in range(2, 9)] + [(SPACE * (n - 1), SPACE) for n in range(2, 9)]
    merges += [tuple(pair) for pair in state["merges"]]
    return vocabulary, [(a, b) for a, b in merges if a in vocabulary and b in vocabulary and a + b in vocabulary]


def tokenizer(template: str):
    from transformers import GemmaTokenizer

    vocabulary, merges = build()
    made = GemmaTokenizer(vocab=vocabulary, merges=merges, add_bos_token=False, padding_side="left",
                          extra_special_tokens=dict(NAMES), chat_template=template)
    made.add_special_tokens({"additional_special_tokens": ["<|video|>"]})
    assert len(made) == VOCABULARY, "a special token was appended instead of found"
    return made


def template() -> str:
    return (Path(__file__).parent / "chat_template.jinja").read_text()
