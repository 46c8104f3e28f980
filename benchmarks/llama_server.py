"""llama.cpp's own HTTP server out of the package xllamacpp, with flags named as llama-server names them.

    .venv-llama/bin/python benchmarks/llama_server.py -m FILE.gguf --port 8412 [-np 2] [-kvu] [--cache-reuse 256] …

Run by the python of an environment that holds xllamacpp; imports nothing else. Ends with its process.
"""

import argparse
import signal

import xllamacpp


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-m", "--model", required=True)
    parser.add_argument("--alias", default="smollm2")
    parser.add_argument("--port", type=int, default=8412)
    parser.add_argument("-c", "--ctx-size", type=int, default=4096, help="of all slots together")
    parser.add_argument("-t", "--threads", type=int, default=2)
    parser.add_argument("-np", "--parallel", type=int, default=1)
    parser.add_argument("-kvu", "--kv-unified", action="store_true")
    parser.add_argument("-cram", "--cache-ram", type=int, default=8192)
    parser.add_argument("--no-cache-idle-slots", action="store_true")
    parser.add_argument("-sps", "--slot-prompt-similarity", type=float, default=0.1)
    parser.add_argument("--cache-reuse", type=int, default=0)
    parser.add_argument("--cache-type", choices=("f16", "f32"), default="f16", help="of keys and values")
    options = parser.parse_args()
    params = xllamacpp.CommonParams()
    params.model.path = options.model
    params.model_alias = {options.alias}
    params.hostnames = ["127.0.0.1"]
    params.port = options.port
    params.n_ctx = options.ctx_size
    params.cpuparams.n_threads = options.threads
    params.cpuparams_batch.n_threads = options.threads
    params.n_parallel = options.parallel
    params.kv_unified = options.kv_unified
    params.cache_ram_mib = options.cache_ram
    params.cache_idle_slots = not options.no_cache_idle_slots
    params.slot_prompt_similarity = options.slot_prompt_similarity
    params.n_cache_reuse = options.cache_reuse
    kind = getattr(xllamacpp.ggml_type, f"GGML_TYPE_{options.cache_type.upper()}")
    params.cache_type_k = params.cache_type_v = kind
    params.endpoint_metrics = True
    params.ui = False
    server = xllamacpp.Server(params)
    print(f"xllamacpp {xllamacpp.__version__} on {server.listening_address}", flush=True)
    signal.pause()


if __name__ == "__main__":
    main()
