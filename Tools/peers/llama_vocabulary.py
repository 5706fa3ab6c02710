"""A vocabulary of Gemma 4's size for a GGUF file: what Troika's synthetic bundles have.

The special tokens at E2B's ids, the 256 bytes, the printable characters and fillers; every character of a
prompt is a token.
"""

import gguf

SIZE, FIRST_BYTE = 262144, 238
SPECIAL = {0: "<pad>", 1: "<eos>", 2: "<bos>", 3: "<unk>", 4: "<mask>", 98: "<|think|>", 100: "<|channel>",
           101: "<channel|>", 105: "<|turn>", 106: "<turn|>", 255999: "<|image>", 256000: "<|audio>",
           258880: "<|image|>", 258881: "<|audio|>", 258882: "<image|>", 258883: "<audio|>", 258884: "<|video|>"}


def tokens() -> tuple[list[str], list[int]]:
    """Texts and types by id."""
    kinds = gguf.TokenType
    made = {index: (f"<unused{index}>", kinds.UNUSED) for index in range(SIZE)}
    made |= {FIRST_BYTE + byte: (f"<0x{byte:02X}>", kinds.BYTE) for byte in range(256)}
    characters = [chr(code) for code in range(0x21, 0x7F)] + ["\u2581", "\n"]
    made |= {FIRST_BYTE + 256 + index: (text, kinds.NORMAL) for index, text in enumerate(characters)}
    made |= {index: (text, kinds.CONTROL) for index, text in SPECIAL.items()}
    return [text for text, _ in made.values()], [int(kind) for _, kind in made.values()]


def add(writer: gguf.GGUFWriter) -> None:
    texts, kinds = tokens()
    writer.add_tokenizer_model("gemma4")
    writer.add_token_list(texts)
    writer.add_token_types(kinds)
    # A list of merges has to be there; this one never applies, as no token is made of two others.
    writer.add_token_merges(["<unused5> <unused6>"])
    writer.add_pad_token_id(0)
    writer.add_eos_token_id(1)
    writer.add_bos_token_id(2)
    writer.add_unk_token_id(3)
    writer.add_add_bos_token(True)
    writer.add_add_space_prefix(False)
