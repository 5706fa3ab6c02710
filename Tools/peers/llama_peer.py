#!/usr/bin/env python3
"""Times llama.cpp on Gemma 4 E2B's text decoder with random weights.

    python Tools/peers/llama_peer.py --model .build/peers [--format Q4_0|Q8_0|F16] [--threads N]
                                     [--prompt N] [--tokens N] [--runs N]

The model is written below the folder once (1.5 to 9 GB). Each measurement is one JSON line: prefill of
`--prompt` tokens into an empty cache, then decoding of `--tokens` behind them. Needs llama-cpp-python
(built from source), gguf and numpy.
"""

import argparse
import json
import statistics
from pathlib import Path

from llama_session import Session
from llama_text import FORMATS, text_model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="folder for the model")
    parser.add_argument("--format", default="Q4_0", choices=FORMATS)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--prompt", type=int, default=512)
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    path = text_model(arguments.model, arguments.format)
    session = Session(path, arguments.threads, arguments.prompt + arguments.tokens + 64)
    prompt = [3 + 7 * i % 200000 for i in range(arguments.prompt)]
    session.feed(prompt[:8])
    prefill, decode = [], []
    for _ in range(arguments.runs):
        session.forget()
        prefill.append(session.feed(prompt))
        decode.append(sum(session.feed([5 + i]) for i in range(arguments.tokens)) / arguments.tokens)
    for what, samples in [("prefill", prefill), ("decode", decode)]:
        print(json.dumps({"what": what, "peer": "llama.cpp", "format": arguments.format, "threads": arguments.threads,
                          "prompt": arguments.prompt, "seconds_median": statistics.median(samples),
                          "runs": arguments.runs}))


if __name__ == "__main__":
    main()
