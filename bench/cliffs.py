#!/usr/bin/env python3
"""The gate against cliffs: times every spec of the library, of the tests, of bench/specs/found and of a
folder of programs drawn at random, at sizes of real use, beside the least time that the machine needs for
what each computes (cliff/roofline.py).

usage: cliffs.py --commit COMMIT --output FILE.json [--specs FOLDER] [--only REGEX] [--aim SHARE] [--peers]
       cliffs.py --dry-run [--specs FOLDER] [--only REGEX]       compiles and counts; needs no GPU
       cliffs.py --write-specs FOLDER [--seed N] [--count N]     draws programs; needs a build

Everything is compiled first, side by side. Then one process times the programs in turn; it is killed and
replaced where a program takes too long. With --peers it then times what PyTorch has for the same specs. With
--aim, the exit status is 1 if a spec of the library is below that share of its roofline, or slower than
torch.compile.
"""
import argparse
import concurrent.futures
import datetime
import json
import os
import pathlib
import queue
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from cliff import inputs, peers, roofline, shapes, specs, torch_program
from cliff.torch_code import NotSaid

HERE = pathlib.Path(__file__).resolve().parent
TARGET = "sm_90a"
MOST_KERNELS = 8  # of a program whose facts are kept, beside those that took the most time
PEER_S = 60  # in which a peer is compiled
COPY = "copy"  # the form of what only copies unaligned tensors
LACKING = 4  # the exit code of attnc where the machine lacks something


class Failed(Exception):
    """A spec that cannot be timed, and why."""


# --- compiling ---------------------------------------------------------------------------------


def run_attnc(options, *arguments):
    try:
        done = subprocess.run([options.attnc, *map(str, arguments)], capture_output=True, text=True,
                              timeout=options.compile_limit, check=False)
    except subprocess.TimeoutExpired:
        raise Failed(f"not compiled in {options.compile_limit:.0f} s") from None
    if done.returncode == LACKING:
        print(done.stderr, file=sys.stderr)
        raise SystemExit(LACKING)
    if done.returncode:
        raise Failed((done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[0])
    return done.stdout


def tensors_of(manifest):
    """(type, dims) of every input and output."""
    return [(t["dtype"], t["dims"]) for t in manifest["inputs"] + manifest["outputs"]]


def explained(options, path, content, name, tensors):
    """(shape, roofline, what explain says) at the longest sequences that fit memory and time."""
    factor = None  # by how much the extents have to shrink
    for shape in (tried := shapes.shapes_of(content, name, tensors)):
        if factor and max(shape.values()) > factor * max(tried[0].values()) and shape != tried[-1]:
            continue
        text = ",".join(f"{dim}={size}" for dim, size in shape.items())
        facts = json.loads(run_attnc(options, "explain", path, "--target", TARGET, "--json",
                                     *(["--shape", text] if text else [])))
        moved = shapes.tensor_bytes(content, shape, tensors)
        line = roofline.roofline(facts, content, name, shape, moved)
        if facts["materialised_bytes"] <= shapes.MOST_BETWEEN and line["program_ms"] <= shapes.MOST_MS:
            break
        if factor is None:  # both grow with the square of the sequences
            factor = min(1, shapes.MOST_MS / line["program_ms"]) ** 0.5
    return shape, line, facts


def kernel_facts(facts):
    """What is said of the kernels of the usual variant. Of those that one launch computes together the
    first has the registers."""
    return [{"name": k["kernel"], "form": k["form"], "why_generic": "; ".join(k["passed_over"]),
             "limit": ((k.get("schedule_report") or {}).get("predicted") or {}).get("limit"),
             "registers": k.get("resources", {}).get("registers"),
             "spilled": k.get("resources", {}).get("spill_stores")}
            for k in facts["kernels"]]


def prepare(spec, folder, options):
    """The record of a spec before it is timed; its program is a file of the folder."""
    record = {"group": spec.group, "name": spec.name}
    began = time.monotonic()
    try:
        content = shapes.bindable(spec.content, spec.name)
        path = folder / f"{spec.group}-{spec.name}.json"
        path.write_text(json.dumps(content), encoding="utf-8")
        run_attnc(options, "compile", path, "--target", TARGET, "--emit", "program", "-o",
                  path.with_suffix(".program"))
        manifest = json.loads(run_attnc(options, "compile", path, "--target", TARGET, "--emit",
                                        "manifest"))
        tensors = tensors_of(manifest)
        shape, line, facts = explained(options, path, content, spec.name, tensors)
        record.update(shape=shape, bytes=shapes.tensor_bytes(content, shape, tensors),
                      between_bytes=facts["materialised_bytes"], kernels=kernel_facts(facts),
                      forms=[(k.get("symbol", k["name"]), k.get("form", COPY))
                             for k in manifest["kernels"]], **line)
    except (Failed, shapes.Unsized) as error:
        record["error"] = str(error)
    record["compile_s"] = time.monotonic() - began
    return record


def prepare_all(chosen, folder, options):
    """The records of all, in their order. Those that take the longest, which are among the found ones,
    begin first."""
    with concurrent.futures.ThreadPoolExecutor(options.workers) as pool:
        futures = {spec.path: pool.submit(prepare, spec, folder, options)
                   for spec in sorted(chosen, key=lambda spec: spec.group != "found")}
        return [futures[spec.path].result() for spec in chosen]


# --- timing ------------------------------------------------------------------------------------


class Worker:
    """The process that has the GPU, and a new one when it has been killed."""

    def __init__(self):
        self.process = None

    def start(self):
        self.process = subprocess.Popen([sys.executable, str(HERE / "cliff/worker.py")],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.replies = queue.Queue()
        threading.Thread(target=self.listen, args=(self.process.stdout, self.replies),
                         daemon=True).start()
        return self.ask("machine", 120)

    @staticmethod
    def listen(lines, replies):
        for line in lines:
            replies.put(json.loads(line))
        replies.put(None)

    def ask(self, job, limit):
        if self.process is None:
            self.start()
        try:
            print(json.dumps(job), file=self.process.stdin, flush=True)
            reply = self.replies.get(timeout=limit)
        except queue.Empty:
            self.stop()
            return {"timed_out_s": limit}
        except OSError:
            reply = None
        if reply is None:
            reply = {"error": "the process that timed it ended", "ended": True}
        if reply.get("ended"):
            self.stop()
        return reply

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def add_forms(kernels, forms, usual):
    """Kernels of several variants may have one name. Those of the usual variant come first, and if a
    kernel of the program is none of these (`usual`), it was another variant that ran."""
    known = [{form for symbol, form in forms if symbol == kernel["name"]} for kernel in kernels]
    is_usual = all(kernel["name"] in usual or found <= {COPY} for kernel, found in zip(kernels, known))
    by_name = dict(reversed(forms) if is_usual else forms)
    for kernel in kernels:
        kernel["form"] = by_name.get(kernel["name"], "?")


def finish(record, reply):
    """Adds the times, and the share of the roofline; of a program that was stopped, the most it can be."""
    add_forms(reply.get("kernels", ()), record.pop("forms"), {k["name"] for k in record["kernels"]})
    if "error" in reply:
        record["error"] = reply["error"]
        return
    record["timed"] = reply
    shown = {kernel["name"] for kernel in reply.get("kernels", ())}
    record["kernels"] = [kernel for number, kernel in enumerate(record["kernels"])
                         if number < MOST_KERNELS or kernel["name"] in shown]
    ms = reply.get("ms") or 1e3 * reply["timed_out_s"]
    record.update(ms=ms, fraction=record["roofline_ms"] / ms,
                  program_fraction=record["program_ms"] / ms)


def time_all(records, folder, options, worker, save):
    began = time.monotonic()
    for record in records:
        if "error" in record:
            continue
        if time.monotonic() - began > options.limit:
            record["error"] = "not timed, the time is up"
            record.pop("forms")
            continue
        finish(record, worker.ask(job_of(record, folder), options.spec_limit))
        save()


def job_of(record, folder):
    stem = folder / f"{record['group']}-{record['name']}"
    return {"program": f"{stem}.program", "spec": f"{stem}.json", "shape": record["shape"]}


# --- peers -------------------------------------------------------------------------------------


def time_peers(records, folder, options, worker, save):
    """Adds what PyTorch takes for the same specs, one after another, as far as the time goes."""
    began = time.monotonic()
    for record in records:
        if "timed" not in record or not re.search(options.peers, f"{record['group']}/{record['name']}"):
            continue
        record["peers"] = []
        for peer in peers.names(record["group"], record["name"]):
            if time.monotonic() - began > options.peer_limit:
                found = {"name": peers.shown(peer), "error": "not timed, the time is up"}
            else:
                found = peer_of(record, peer, folder, options, worker)
            record["peers"].append(found)
            save()


def peer_of(record, peer, folder, options, worker):
    """One peer: its time and how far its results are from those of attnc, or why it does not count."""
    found = {"name": peers.shown(peer)}
    job = {**job_of(record, folder), "name": record["name"], "peer": peer, "text": None,
           "compare": "ms" in record["timed"]}
    if peer == peers.COMPILED:
        try:
            content = specs.read(pathlib.Path(job["spec"]))
            job["text"] = torch_program.source(content, record["shape"], inputs.params_of(content))
        except NotSaid as reason:
            return {**found, "error": f"cannot say it: {reason}"}
    limit = PEER_S + options.spec_limit
    reply = worker.ask(job, limit)
    if "timed_out_s" in reply:
        return {**found, "error": f"not compiled and timed in {limit:.0f} s"}
    if "difference" in reply and reply["difference"] > peers.MOST_DIFFERENCE:
        reply["error"] = f"its results differ by {reply['difference']:.2g}"
    if not job["compare"] and "ms" in reply:
        reply["error"] = "not compared, since attnc was stopped"
    reply.pop("ended", None)
    return {**found, **reply}


# --- what is said ------------------------------------------------------------------------------


def slowest(record):
    """The kernel that took most of the time, with its form and the reason for it."""
    said = {kernel["name"]: kernel for kernel in record["kernels"]}
    timed = (record.get("timed") or {}).get("kernels")
    if not timed:
        name = next(iter(said), "?")
        return f"{name} ({said[name]['form']})" if said else "?"
    first = timed[0]
    why = said.get(first["name"], {}).get("why_generic") or ""
    return f"{100 * first['share']:.0f} % {first['name'][:40]} ({first['form']}{': ' + why if why else ''})"


def said_of(peer):
    words = [peer["name"], f"{peer['ms']:.3f} ms" if "ms" in peer else "", peer.get("error", "")]
    return ", ".join(filter(None, words))


def show(records):
    """A table, the worst first."""
    for record in sorted((r for r in records if "roofline_ms" in r and "error" not in r),
                         key=lambda r: r.get("fraction", 0)):
        ms = f"{record['ms']:10.3f} ms {record['fraction']:6.3f}" if "ms" in record else " " * 20
        stopped = " stopped" if "timed_out_s" in (record.get("timed") or {}) else ""
        data = " (all counted)" if record["bounds_unknown"] else ""
        beside = "".join(f"; {said_of(peer)}" for peer in record.get("peers", ()))
        print(f"{record['group']:8} {record['name'][:36]:36} {ms}{stopped}  roofline "
              f"{record['roofline_ms']:8.3f} ms, {record['limit']}{data}; {slowest(record)[:150]}{beside}")
    for record in records:
        if "error" in record:
            print(f"{record['group']:8} {record['name']:36} {record['error']}")


def distribution(records):
    """By group: how many were timed, the median of the shares, and the bound of the worst tenth."""
    found = {}
    for group in specs.GROUPS:
        shares = sorted(r["fraction"] for r in records if r["group"] == group and "fraction" in r)
        if shares:
            found[group] = {"timed": len(shares), "median": statistics.median(shares),
                            "worst_tenth": shares[len(shares) // 10], "worst": shares[0],
                            "failed": sum(r["group"] == group and "error" in r for r in records)}
    return found


def below(records, aim):
    """The specs of the library that miss the aim, or could not be timed."""
    return [r["name"] for r in records if r["group"] == "library" and r.get("fraction", 0) < aim]


def behind(records):
    """The specs of the library that torch.compile makes faster."""
    return [r["name"] for r in records if r["group"] == "library" and "ms" in r and
            (peer := peers.compiled(r)) and peer["ms"] < r["ms"]]


# --- the whole ---------------------------------------------------------------------------------


def found_binary(name):
    """In a bundle or in the build folder."""
    places = [HERE.parent / "bin" / name, HERE.parent / "build/bin" / name]
    return str(next((path for path in places if path.exists()), places[-1]))


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--commit", help="of attnc")
    parser.add_argument("--output", type=pathlib.Path)
    parser.add_argument("--attnc", default=found_binary("attnc"), help="the binary")
    parser.add_argument("--specs", type=pathlib.Path, help="folder of drawn programs")
    parser.add_argument("--only", default="", help="a regular expression on GROUP/NAME")
    parser.add_argument("--aim", type=float, help="the least share for specs of the library")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 2, help="that compile")
    parser.add_argument("--compile-limit", type=float, default=180, metavar="SECONDS")
    parser.add_argument("--spec-limit", type=float, default=10, metavar="SECONDS",
                        help="the most that a program may take, tensors and warm-up included")
    parser.add_argument("--limit", type=float, default=360, metavar="SECONDS",
                        help="time no program after that, counted from the first")
    parser.add_argument("--peers", nargs="?", const="^(library|found)/", metavar="REGEX",
                        help="also what PyTorch has for specs whose GROUP/NAME it finds, the library and those "
                             "that once showed a cliff if it is not given")
    parser.add_argument("--peer-limit", type=float, default=360, metavar="SECONDS",
                        help="time no peer after that, counted from the first")
    parser.add_argument("--merge", action="store_true",
                        help="keep what FILE.json has of other specs, so that several runs make one")
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--write-specs", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--programs", default=found_binary("attnc_programs"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=200)
    options = parser.parse_args()
    if not (options.dry_run or options.write_specs or options.commit and options.output):
        parser.error("--commit and --output are needed to measure")
    return options


def kept(path, records):
    """The cells of a file that are of other specs, with the commit that they were measured at."""
    if not path.exists():
        return []
    report = json.loads(path.read_text(encoding="utf-8"))
    now = {(record["group"], record["name"]) for record in records}
    return [{"commit": report["commit"], **cell} for cell in report["cells"]
            if (cell["group"], cell["name"]) not in now]


def measure(records, folder, options):
    worker = Worker()
    machine = worker.start()
    if "error" in machine:
        sys.exit(f"nothing can be timed: {machine['error']}")
    report = {"kind": "cliffs", "machine": machine,
              "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
              "commit": options.commit}
    earlier = kept(options.output, records) if options.merge else []

    def save():
        report["cells"] = [*records, *earlier]
        report["cells"].sort(key=lambda cell: specs.GROUPS.index(cell["group"]))
        report["distribution"] = distribution(report["cells"])
        options.output.write_text(json.dumps(report, indent=1) + "\n")
    time_all(records, folder, options, worker, save)
    if options.peers:
        time_peers(records, folder, options, worker, save)
    worker.stop()
    save()
    return report


def main():
    options = parse()
    if options.write_specs:
        specs.draw(options.programs, options.seed, options.count, options.write_specs)
        return 0
    chosen = [spec for spec in specs.collect(options.specs)
              if re.search(options.only, f"{spec.group}/{spec.name}")]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        began = time.monotonic()
        records = prepare_all(chosen, folder, options)
        print(f"{len(records)} specs compiled in {time.monotonic() - began:.0f} s", flush=True)
        if not options.dry_run:
            report = measure(records, folder, options)
    show(records)
    if options.dry_run:
        return int(any("error" in record for record in records))
    for group, x in report["distribution"].items():
        print(f"{group:8} {x['timed']} timed, {x['failed']} failed; share of the roofline: median "
              f"{x['median']:.2f}, worst tenth below {x['worst_tenth']:.2f}, worst {x['worst']:.3f}")
    if options.aim is None:
        return 0
    missed, slower = below(records, options.aim), behind(records)
    print(f"below {options.aim} in the library: {', '.join(missed) or 'none'}")
    print(f"behind torch.compile in the library: {', '.join(slower) or 'none'}")
    return int(bool(missed or slower))


if __name__ == "__main__":
    sys.exit(main())
