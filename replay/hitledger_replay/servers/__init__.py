"""Recorded sessions through a server that speaks OpenAI's completions API: vLLM, SGLang, llama.cpp and others."""
