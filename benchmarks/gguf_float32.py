"""The weights of a GGUF file as float32 in another: the same numbers that our engine computes with, for llama.cpp."""

from pathlib import Path

from gguf import GGUFReader, GGUFValueType, GGUFWriter, LlamaFileType, dequantize

DERIVED = ("GGUF.", "general.file_type", "general.quantization_version")


def write_float32(source: Path, target: Path, layers: int | None = None) -> None:
    """Dequantize every tensor. `layers`: the first so many only, for a model that is fast and answers nonsense."""
    reader = GGUFReader(source)
    architecture = str(reader.fields["general.architecture"].contents())
    writer = GGUFWriter(target, architecture)
    for name, entry in reader.fields.items():
        if name.startswith(DERIVED) or name == "general.architecture":
            continue
        value = layers if layers is not None and name == f"{architecture}.block_count" else entry.contents()
        inner = entry.types[-1] if entry.types[0] == GGUFValueType.ARRAY else None
        writer.add_key_value(name, value, entry.types[0], sub_type=inner)
    writer.add_file_type(LlamaFileType.ALL_F32)
    for tensor in reader.tensors:
        block = tensor.name.split(".")
        if layers is None or block[0] != "blk" or int(block[1]) < layers:
            writer.add_tensor(tensor.name, dequantize(tensor.data, tensor.tensor_type).astype("float32"))
    target.parent.mkdir(parents=True, exist_ok=True)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
