"""llama.cpp with a text model and a context, through llama-cpp-python's functions of its C interface."""

import ctypes
import time
from pathlib import Path

import llama_cpp as api


class Session:
    def __init__(self, path: Path, threads: int, context: int):
        self.quiet = api.llama_log_callback(lambda *_: None)
        api.llama_log_set(self.quiet, ctypes.c_void_p(0))
        api.llama_backend_init()
        self.model = api.llama_model_load_from_file(str(path).encode(), api.llama_model_default_params())
        if not self.model:
            raise SystemExit(f"{path}: llama.cpp could not load it")
        settings = api.llama_context_default_params()
        settings.n_ctx = context
        settings.n_batch = settings.n_ubatch = 512
        settings.n_threads = settings.n_threads_batch = threads
        self.context = api.llama_init_from_model(self.model, settings)

    def has_vocabulary(self) -> bool:
        return api.llama_vocab_type(api.llama_model_get_vocab(self.model)) != api.LLAMA_VOCAB_TYPE_NONE

    def feed(self, tokens: list[int]) -> float:
        """Seconds that these tokens take."""
        array = (api.llama_token * len(tokens))(*tokens)
        start = time.monotonic()
        if api.llama_decode(self.context, api.llama_batch_get_one(array, len(tokens))):
            raise SystemExit("llama.cpp could not decode")
        api.llama_get_logits_ith(self.context, -1)
        return time.monotonic() - start

    def forget(self) -> None:
        api.llama_memory_clear(api.llama_get_memory(self.context), True)
