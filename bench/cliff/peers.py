"""What PyTorch has for a spec, on the same tensors: the spec in operations of PyTorch (torch_program.py),
compiled by torch.compile, and for some a peer chosen by hand, from the cells of the benchmark of variants that
do not depend on the cell's own sizes. Only `call_of` needs PyTorch."""
MOST_DIFFERENCE = 0.1  # of results, relative; a peer that is further away does not count
COMPILED = "torch.compile"

# What `variant_cells` has; "eager" is in operations of PyTorch, and goes through torch.compile.
BY_HAND = {"causal": "cudnn", "full": "cudnn", "elsa": "efficient", "elsa_causal": "efficient",
           "ffpa": "efficient", "ffpa_causal": "efficient", "sink": "flex, rescaled",
           "differential": "two of cudnn", "linear": "eager", "ipa": "eager",
           "evoformer": "efficient, bias in memory"}


def names(group, name):
    """The peers of a spec."""
    chosen = BY_HAND.get(name) if group == "library" else None
    return [COMPILED, chosen] if chosen else [COMPILED]


def call_of(peer, name, tensors, text):
    """A call that gives the outputs by name. `text` is the spec in operations of PyTorch."""
    import torch
    if peer == COMPILED:
        from cliff import torch_program
        torch._dynamo.reset()  # else what is compiled for other specs stays
        program = torch.compile(torch_program.function(text), dynamic=False, fullgraph=True)
        return lambda: program(*tensors.values())
    import variant_cells
    for cell in variant_cells.cells():
        if name in {path.stem for path, _ in cell.programs.values()} and peer in cell.peers:
            call = cell.peers[peer](tensors)
            return torch.compile(call) if peer == "eager" else call
    raise LookupError(f"no cell of the variants has {peer} for {name}")


def shown(peer):
    """What a peer is called."""
    return "torch.compile, by hand" if peer == "eager" else peer


def best(record):
    """The fastest of the peers that count, or None."""
    return min(counted(record), key=lambda peer: peer["ms"], default=None)


def compiled(record):
    """The fastest of those that are torch.compile's, or None."""
    return min((peer for peer in counted(record) if peer["name"].startswith(COMPILED)),
               key=lambda peer: peer["ms"], default=None)


def counted(record):
    """The peers that were timed and have the same results."""
    return [peer for peer in record.get("peers", ()) if "ms" in peer and "error" not in peer]
