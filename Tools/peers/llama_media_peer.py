#!/usr/bin/env python3
"""Times llama.cpp on a prompt with a picture or a sound, at Gemma 4 E2B's shapes with random weights.

    python Tools/peers/llama_media_peer.py --model .build/peers [--image FILE] [--audio FILE]
                                           [--format Q4_0|Q8_0|F16] [--towers F16|BF16|Q8_0]
                                           [--words N] [--threads N] [--runs N]

Text model and towers are written below the folder once (3 to 9 and 0.5 to 1 GB). A prompt is one turn of the
medium and `--words` words of a token each. Each measurement is one JSON line, by the clock from the file to
the first token: `media` decodes the file, preprocesses it and makes the tokens, `encode` is the tower,
`prefill` the decoder over the whole prompt, `seconds` all of it with the choice of a token. One prompt is run
before those that count. Needs llama-cpp-python (built from source), gguf and numpy.
"""

import argparse
import ctypes
import json
import statistics
import time
from pathlib import Path

import llama_cpp as api
from llama_cpp import mtmd_cpp as media

import llama_mmproj
from llama_session import Session
from llama_text import FORMATS, text_model

CONTEXT, BATCH = 2048, 512
PARTS = ("media", "encode", "prefill", "seconds")


class MediaSession:
    def __init__(self, session: Session, path: Path, threads: int):
        self.session = session
        media.mtmd_log_set(session.quiet, ctypes.c_void_p(0))
        media.mtmd_helper_log_set(session.quiet, ctypes.c_void_p(0))
        settings = media.mtmd_context_params_default()
        settings.use_gpu = settings.print_timings = False
        settings.n_threads = threads
        self.towers = media.mtmd_init_from_file(str(path).encode(), session.model, settings)
        if not self.towers:
            raise SystemExit(f"{path}: llama.cpp could not load it")
        self.greedy = api.llama_sampler_init_greedy()

    def chunks(self, file: Path, text: str):
        """The prompt's parts: texts, and the medium preprocessed."""
        bitmap = media.mtmd_helper_bitmap_init_from_file(self.towers, str(file).encode(), False)
        if not bitmap:
            raise SystemExit(f"{file}: llama.cpp could not decode it")
        said = text.encode()
        prompt = media.mtmd_input_text(said, len(said), True, True)
        made = media.mtmd_input_chunks_init()
        bitmaps = (media.mtmd_bitmap_p_ctypes * 1)(bitmap)
        if media.mtmd_tokenize(self.towers, made, ctypes.byref(prompt), bitmaps, 1):
            raise SystemExit("llama.cpp could not make tokens of the prompt")
        media.mtmd_bitmap_free(bitmap)
        return made

    def encode(self, chunk) -> float:
        start = time.monotonic()
        if media.mtmd_encode_chunk(self.towers, chunk):
            raise SystemExit("llama.cpp could not encode")
        return time.monotonic() - start

    def decode(self, chunk, is_text: bool, is_last: bool, position: ctypes.c_int32) -> None:
        """Moves `position` behind the chunk."""
        given = (chunk, position.value, 0, BATCH)
        if is_text:
            failed = media.mtmd_helper_eval_chunk_single(
                self.towers, self.session.context, *given, is_last, ctypes.byref(position))
        else:
            failed = media.mtmd_helper_decode_image_chunk(
                self.towers, self.session.context, chunk, media.mtmd_get_output_embd(self.towers), *given[1:],
                ctypes.byref(position), media.mtmd_helper_post_decode_callback(), None)
        if failed:
            raise SystemExit("llama.cpp could not decode")

    def first_token(self, file: Path, text: str) -> dict:
        self.session.forget()
        start = time.monotonic()
        chunks = self.chunks(file, text)
        prepared = time.monotonic()
        position, encode, soft = api.llama_pos(0), 0.0, 0
        count = media.mtmd_input_chunks_size(chunks)
        for index in range(count):
            chunk = media.mtmd_input_chunks_get(chunks, index)
            is_text = media.mtmd_input_chunk_get_type(chunk) == media.MTMD_INPUT_CHUNK_TYPE_TEXT
            if not is_text:
                encode += self.encode(chunk)
                soft += media.mtmd_input_chunk_get_n_tokens(chunk)
            self.decode(chunk, is_text, index == count - 1, position)
        api.llama_sampler_sample(self.greedy, self.session.context, -1)
        end = time.monotonic()
        media.mtmd_input_chunks_free(chunks)
        return {"media": prepared - start, "encode": encode, "prefill": end - prepared - encode,
                "seconds": end - start, "tokens": position.value, "soft": soft}


def turn(words: int, is_visual: bool) -> str:
    """A turn as Troika's template has it, a newline behind pictures; the first token is added by llama.cpp."""
    marker = media.mtmd_default_marker().decode()
    return f"<|turn>user\n{marker}" + "\n" * is_visual + "a" * words + "<turn|>\n<|turn>model\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="folder for the models")
    parser.add_argument("--image", type=Path)
    parser.add_argument("--audio", type=Path)
    parser.add_argument("--format", default="Q4_0", choices=FORMATS)
    parser.add_argument("--towers", default="F16", choices=llama_mmproj.FORMATS)
    parser.add_argument("--words", type=int, default=20)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    path = text_model(arguments.model, arguments.format)
    session = Session(path, arguments.threads, CONTEXT)
    if not session.has_vocabulary():
        raise SystemExit(f"{path}: written before it held a vocabulary; delete it")
    towers = MediaSession(session, llama_mmproj.projector(arguments.model, arguments.towers), arguments.threads)
    for what, file in [("image", arguments.image), ("audio", arguments.audio)]:
        if not file:
            continue
        text = turn(arguments.words, what == "image")
        made = [towers.first_token(file, text) for _ in range(1 + arguments.runs)][1:]
        print(json.dumps({"what": what + " prompt", "peer": "llama.cpp", "format": arguments.format,
                          "towers": arguments.towers, "threads": arguments.threads,
                          "tokens": made[0]["tokens"], "soft_tokens": made[0]["soft"],
                          **{part + "_median": round(statistics.median(run[part] for run in made), 4)
                             for part in PARTS}, "runs": arguments.runs}), flush=True)


if __name__ == "__main__":
    main()
