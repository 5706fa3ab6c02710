"""Writes small tokenizers with odd settings and what the reference library makes of texts.

    python Tools/make_tokenizer_cases.py Tests/ModelsTests/Fixtures/tokenizer_variants.json

Needs `tokenizers` from PyPI. The texts are random with a fixed seed.
"""

import json
import random
import sys

from tokenizers import Tokenizer

SPACE = "\u2581"


def base(**model):
    letters = list("abcde<>|x_1") + [SPACE, "\n", "é", "漢"]
    vocab = {name: i for i, name in enumerate(["<unk>", "<s>", "<t>"])}
    for token in letters:
        vocab[token] = len(vocab)
    for byte in range(256):
        vocab[f"<0x{byte:02X}>"] = len(vocab)
    merges = [("a", "b"), ("b", "c"), ("ab", "c"), (SPACE, "a"), (SPACE, SPACE), ("a", "a"), ("aa", "a"), ("\n", "\n"),
              ("é", "a"), (SPACE + "a", "b"), ("c", "d"), ("bc", "d"), ("d", "e"), ("aa", "aa"), ("e", SPACE)]
    for a, b in merges:
        vocab.setdefault(a + b, len(vocab))
    settings = {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None, "end_of_word_suffix": None,
                "fuse_unk": True, "byte_fallback": True, "ignore_merges": False, "vocab": vocab, "merges": [list(m) for m in merges]}
    settings.update(model)
    return settings


def token(index, content, **flags):
    result = {"id": index, "content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
              "special": True}
    result.update(flags)
    return result


def without_bytes(model):
    keep = {name: i for name, i in model["vocab"].items() if not name.startswith("<0x")}
    model["vocab"] = {name: i for i, name in enumerate(keep)}
    return model


def variants():
    replace = {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}
    split = {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False}
    decoder = {"type": "Sequence", "decoders": [
        {"type": "Replace", "pattern": {"String": SPACE}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}]}
    specials = [token(0, "<unk>"), token(1, "<s>"), token(2, "<t>")]

    def whole(model, added=specials, normalizer=replace, pre=split, dec=decoder):
        return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": normalizer,
                "pre_tokenizer": pre, "post_processor": None, "decoder": dec, "model": model}

    plain = base()
    top = len(plain["vocab"])
    yield "plain", whole(base())
    yield "legacy_merges", whole(base(merges=[" ".join(pair) for pair in plain["merges"]]))
    yield "no_fallback_fused", whole(without_bytes(base(byte_fallback=False)))
    yield "no_fallback_single", whole(without_bytes(base(byte_fallback=False, fuse_unk=False)))
    yield "no_unknown", whole(without_bytes(base(byte_fallback=False, unk_token=None)))
    yield "ignore_merges", whole(base(ignore_merges=True))
    yield "strips", whole(base(), specials[:2] + [token(2, "<t>", lstrip=True, rstrip=True), token(top, "xx", single_word=True, special=False)])
    yield "user_defined", whole(base(), specials + [
        token(top, "ab<", special=False), token(top + 1, "ab<s>c", special=False), token(top + 2, SPACE * 3, special=False, normalized=True),
        token(top + 3, "a b", special=False, normalized=True), token(top + 4, "<s", special=False)])
    yield "prepend", whole(
        base(), specials, {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": SPACE}, replace]}, None,
        {"type": "Sequence", "decoders": decoder["decoders"] + [{"type": "Strip", "content": " ", "start": 1, "stop": 0}]})
    for behavior in ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext"]:
        yield "split_" + behavior, whole(base(), specials, None, dict(split, behavior=behavior, pattern={"String": "a"}))


def main():
    source = random.Random(11)
    alphabet = ["a", "b", "c", "d", "e", "<s>", "<t>", "<", ">", "|", " ", " ", "  ", "\n", "é", "e\u0301", "漢", "🙂", "ж", SPACE, "x",
                "xx", "_", "1", "\t", "aaaa", "abc", "a b", "<0x41>", "<unk>", "\u00a0"]
    texts = ["", " ", "<s>", "<t>", " <t> ", "a <t> b", "xx", "xxx", " xx ", "_xx", "xx1", "ab<s>c", "aaaaaaa"]
    texts += ["".join(source.choice(alphabet) for _ in range(source.randint(1, 24))) for _ in range(60)]
    out = []
    for name, document in variants():
        reference = Tokenizer.from_str(json.dumps(document))
        size = reference.get_vocab_size()
        ids = [[source.randrange(size) for _ in range(source.randint(1, 10))] for _ in range(20)]
        first = document["model"]["vocab"].get("<0x00>")
        if first is not None:
            raw = ["é🙂".encode()[:5], b"\xff", b"\xe2\x96\x81", b"\xf0\x9f\x99\x82\xff", "漢字".encode()]
            ids += [[first + byte for byte in text] for text in raw] + [[first + 0xC3, 3, first + 0xA9], [first + 0xC3, 1, first + 0xA9]]
        out.append({
            "name": name, "tokenizer": document,
            "encode": [{"text": text, "ids": reference.encode(text, add_special_tokens=False).ids} for text in texts],
            "decode": [{"ids": row, "text": reference.decode(row, skip_special_tokens=False),
                        "without_special": reference.decode(row, skip_special_tokens=True)} for row in ids],
        })
    with open(sys.argv[1], "w") as file:
        file.write("[\n" + ",\n".join(json.dumps(entry, ensure_ascii=False, separators=(",", ":")) for entry in out) + "\n]\n")


main()
