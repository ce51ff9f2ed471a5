"""What PyTorch has for some specs, on the same tensors: from the cells of the benchmark of variants, those
that do not depend on the cell's own sizes. What is written in its operations goes through torch.compile."""
import torch

import variant_cells

BY_SPEC = {"causal": "cudnn", "full": "cudnn", "elsa": "efficient", "elsa_causal": "efficient",
           "ffpa": "efficient", "ffpa_causal": "efficient", "sink": "flex, rescaled",
           "differential": "two of cudnn", "linear": "eager", "ipa": "eager",
           "evoformer": "efficient, bias in memory"}


def call_of(name, tensors):
    """(what it is, a call) for a spec."""
    peer = BY_SPEC[name]
    for cell in variant_cells.cells():
        stems = {path.stem for path, _ in cell.programs.values()}
        if name in stems and peer in cell.peers:
            call = cell.peers[peer](tensors)
            return ("torch.compile", torch.compile(call)) if peer == "eager" else (peer, call)
    raise LookupError(f"no cell of the variants has {peer} for {name}")
