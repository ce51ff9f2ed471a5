"""The least time that an H100 needs for what a program computes, from the counts of `attnc explain`.

`spec`: what the mathematics needs: each product once, inputs read once, outputs written once. `program`:
what the kernels do, one after another: products that are computed again and values that go through
memory between kernels are in it.
"""
import re

from cliff.shapes import BYTES, Extents

CLOCK_HZ, MULTIPROCESSORS = 1.755e9, 132
LAUNCH_S = 5e-6  # of a program, however small
# What tensor cores were seen to do, in FLOP/s. Products accurate to f32 are three of halves of 16 bits.
# Nothing is known of f64.
HALF = 775e12
PRODUCTS = {"16 bits": HALF, "f32": HALF / 3}
EXPONENTIALS = 16 * MULTIPROCESSORS * CLOCK_HZ
ARITHMETIC = 128 * MULTIPROCESSORS * CLOCK_HZ
MEMORY = 3.02e12  # bytes/s of a copy

# The share of the pairs that a mask leaves, where explain cannot know it: for what inputs.py makes.
SHARES = {"documents": 1 / 8, "documents_in_order": 1 / 8, "ragged": 1 / 2,
          "blocks_by_condition": 1 / 2, "blocks_by_number": 1 / 4, "blocks_listed": 6 / 64,
          "blocks_listed_dynamic": 6 / 64, "blocks_listed_by_or": 6 / 64,
          "globals_by_condition": 1 / 16, "globals_by_number": 1 / 16}


def terms_of(formula):
    """[[2, ("b", "i", "j")], ...] of "2·b·i·j + ..."."""
    terms = []
    for part in (formula or "").split(" + "):
        factors = part.split("·")
        if factors[0]:
            terms.append([int(factors[0]), tuple(factors[1:])])
    return terms


def is_half(tensor):
    """One of the two that a tensor of f32 is encoded as."""
    return tensor.get("why", "").startswith("halves of ")


def product_type(kernel, dims):
    """What a product over `dims` has to be computed as. Its widest operand decides, the operand that
    streams past, since weights and queries follow it; vectors that only scale do not count."""
    def candidates(tensors):
        fitting = [t for t in tensors if t["dtype"] in ("f16", "bf16", "f32", "f64") and
                   set(t["dims"]) & set(kernel["inner"]) and
                   set(t["dims"]) & set(kernel["inner"]) <= set(dims)]
        most = max((len(t["dims"]) for t in fitting), default=0)
        return [t for t in fitting if len(t["dims"]) == most]
    operands = candidates(kernel["streamed"]) or candidates(kernel["resident"])
    widest = max((BYTES[t["dtype"]] for t in operands), default=4)
    return "16 bits" if widest == 2 and not any(is_half(t) for t in operands) else "f32"


def computed_again(kernel):
    """The dims of each product that another kernel has computed already."""
    kinds = {step.get("fold"): step["details"]["type"] for step in kernel["derivation"]
             if step["rule"] == "demoted"}
    for step in kernel["derivation"]:
        reduced = re.match(r"sum\(\(?([\w, ]+?)\)?, .*\*", step.get("fold", ""))
        if step["rule"] == "recomputed" and reduced and step["fold"] in kinds:
            kept = re.search(r"\[(.*)\]", kinds[step["fold"]])[1]
            yield frozenset(re.findall(r"\w+", kept) + re.findall(r"\w+", reduced[1]))


def share_of(kernel, dims, share):
    """Of a product's pairs, what the mask leaves."""
    pairs = set(dims) & set(kernel["row"]) and set(dims) & set(kernel["stream"])
    if not pairs:
        return 1
    visited = kernel["work"].get("visited_share")
    return share if share is not None else 1 if visited is None else visited


def products_of(kernel, extents, share, minimal):
    """FLOP by type. How many parts a stream is in follows from explain's own count."""
    again = list(computed_again(kernel)) if minimal else []
    flops = dict.fromkeys(PRODUCTS, 0.0)
    whole = 0.0
    for count, dims in terms_of(kernel["work"].get("products_formula")):
        each = extents.count(dims) * share_of(kernel, dims, share)
        whole += count * each
        flops[product_type(kernel, dims)] += max(0, count - 2 * again.count(frozenset(dims))) * each
    in_parts = any(dim.endswith("_part") for dim in kernel.get("grid", ()))
    parts = kernel["work"]["product_flops"] / whole if in_parts and share is None and whole else 1
    return {kind: parts * number for kind, number in flops.items()}


def work_of(kernel, extents, share, minimal):
    """Seconds by what takes them, memory apart. Only the products' formula is known: other operations
    shrink as the products do where their share is known better."""
    flops = products_of(kernel, extents, share, minimal)
    counted = kernel["work"]["product_flops"]
    whole = sum(products_of(kernel, extents, share, False).values())
    scale = min(1, whole / counted) if counted and whole else 1
    return {**{f"products, {kind}": flops[kind] / rate for kind, rate in PRODUCTS.items()},
            "exponentials": scale * kernel["work"]["special"] / EXPONENTIALS,
            "arithmetic": scale * kernel["work"]["other"] / ARITHMETIC}


def longest(bounds):
    """(seconds, what takes them); products of all types share the tensor cores."""
    products = {kind: s for kind, s in bounds.items() if kind.startswith("products")}
    grouped = {kind: s for kind, s in bounds.items() if kind not in products}
    if products:
        grouped[max(products, key=products.get)] = sum(products.values())
    what = max(grouped, key=grouped.get)
    return grouped[what], what


def roofline(explained, content, name, shape, bytes_moved):
    """Milliseconds and what limits them. `explained` is what `attnc explain --json` says at `shape`;
    `bytes_moved` those of inputs and outputs."""
    extents = KernelExtents(content, shape)
    share = SHARES.get(name)
    total, program = {"memory": bytes_moved / MEMORY}, 0
    for kernel in explained["kernels"]:
        for what, seconds in work_of(kernel, extents, share, True).items():
            total[what] = total.get(what, 0) + seconds
        moved = (kernel["work"]["bytes_read"] + kernel["work"]["bytes_written"]) / MEMORY
        program += longest({**work_of(kernel, extents, share, False), "memory": moved})[0]
    seconds, what = longest(total)
    return {"roofline_ms": 1e3 * (seconds + LAUNCH_S), "limit": what if seconds > LAUNCH_S else "launch",
            "program_ms": 1e3 * (max(program, seconds) + LAUNCH_S),
            "bounds_ms": {what: 1e3 * s for what, s in total.items() if s},
            "bounds_unknown": share is None and any(
                k["skips_tiles"] and k["work"].get("visited_share") is None
                for k in explained["kernels"])}


class KernelExtents(Extents):
    """Also of dims that the compiler adds, parts and tiles of others, which it counts as they are."""

    def size(self, dim):
        try:
            return super().size(dim)
        except (KeyError, ValueError):
            return 1
