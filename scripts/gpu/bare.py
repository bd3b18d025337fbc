"""What bare programs need on the same machine. Each command prints one JSON object.

bare.py socket MEGABYTES DEVICE     a tensor by a pinned copy, then over a socket to another process: {"copy_s", "seconds"}
bare.py make FOLDER GIGABYTES DEVICE    a Llama of random weights in bfloat16: {"parameters", "bytes"}
bare.py start FOLDER DEVICE         from the start of Python to the first token: {"seconds", "import_s", "load_s", "token"}
bare.py load FOLDER DEVICE [LOADER]     the load alone, by transformers or by the file LOADER of Seer: {"seconds"}
"""

import time

BEGUN = time.time()

import contextlib  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import socket  # noqa: E402
import sys  # noqa: E402
from pathlib import Path  # noqa: E402


def over_socket(megabytes, device):
    """The best of three, each to memory that is new to the receiver."""
    import torch

    size = int(megabytes) << 20
    ours, theirs = socket.socketpair()
    if os.fork() == 0:
        ours.close()
        receive(theirs, size)
        os._exit(0)
    theirs.close()
    tensor = torch.randn(size // 4, device=device)
    pinned = torch.empty(tensor.shape, pin_memory=device == "cuda")
    copies, wholes = [], []
    for _ in range(3):
        begun = time.monotonic()
        pinned.copy_(tensor)
        copies.append(time.monotonic() - begun)
        ours.sendall(memoryview(pinned.numpy()).cast("B"))
        ours.recv(1)
        wholes.append(time.monotonic() - begun)
    return {"copy_s": min(copies), "seconds": min(wholes)}


def receive(sock, size):
    import numpy

    for _ in range(3):
        memory, there = memoryview(numpy.empty(size, "u1")), 0
        while there < size:
            n = sock.recv_into(memory[there:there + (4 << 20)])
            if not n:
                return
            there += n
        sock.sendall(b"x")


def make(folder, gigabytes, device):
    """As wide and deep as real models of that size; the tokenizer knows a few words."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    sizes = {0: (64, 128, 2, 4), 1: (1536, 4096, 18, 12), 14: (4096, 11008, 32, 32)}  # 0 is for tests
    width, inner, layers, heads = sizes[int(gigabytes)]
    config = LlamaConfig(hidden_size=width, intermediate_size=inner, num_hidden_layers=layers, num_attention_heads=heads,
                         num_key_value_heads=heads, vocab_size=32000)
    torch.set_default_dtype(torch.bfloat16)
    with torch.device(device) if device == "cuda" else contextlib.nullcontext():
        model = LlamaForCausalLM(config)
    model.to("cpu").save_pretrained(folder)
    words = {"<unk>": 0, "the": 1, "fox": 2, "river": 3}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>", pad_token="<unk>").save_pretrained(folder)
    return {"parameters": sum(p.numel() for p in model.parameters()), "bytes": sum(f.stat().st_size for f in Path(folder).iterdir())}


def start(folder, device):
    """Does what served_model.py does."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    imported = time.time()
    model = AutoModelForCausalLM.from_pretrained(folder, device_map=device, torch_dtype="auto")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    loaded = time.time()
    with torch.no_grad():
        token = int(model(**tokenizer("the fox", return_tensors="pt").to(device)).logits[0, -1].argmax())
    return {"seconds": time.time() - BEGUN, "import_s": imported - BEGUN, "load_s": loaded - imported, "token": token}


def load(folder, device, loader=""):
    """The time of the load, with everything imported and the driver awake."""
    import torch
    import transformers

    torch.zeros(1, device=device)
    names = {}
    exec(Path(loader).read_text() if loader else "", names)
    transformers.AutoConfig.from_pretrained(folder)
    begun = time.monotonic()
    if loader:
        sys.stdout, out = sys.stderr, sys.stdout
        model = names["_seer_load"](folder, device=device)[0]
        sys.stdout = out
    else:
        model = transformers.AutoModelForCausalLM.from_pretrained(folder, device_map=device, torch_dtype="auto")
        transformers.AutoTokenizer.from_pretrained(folder)
    if device == "cuda":
        torch.cuda.synchronize()
    seconds = time.monotonic() - begun
    assert next(model.parameters()).device.type == device
    return {"seconds": seconds}


if __name__ == "__main__":
    command, *rest = sys.argv[1:]
    print(json.dumps({"socket": over_socket, "make": make, "start": start, "load": load}[command](*rest)))
