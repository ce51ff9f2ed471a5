#!/usr/bin/env python3
"""Writes the figures of docs/service.md, and their picture, from what fleet_simulation.py,
service_load.py and the long runs of tests/service have written.

usage: report_service.py [--check]
"""
import json
import pathlib
import re
import sys

from report_parts import bars, figure, table, write_or_check

REPOSITORY = pathlib.Path(__file__).resolve().parents[1]
RESULTS = REPOSITORY / "bench/results"
PAGE = REPOSITORY / "docs/service.md"
PICTURE = REPOSITORY / "docs/pictures/service-fleet.svg"

# What the scenarios of the simulation are called on the page, in its order.
SCENARIOS = {
    "nothing": "no cache",
    "disk": "a disk cache on each machine",
    "cold": "one server, empty",
    "cold_4": "four servers, empty",
    "cold_without_nvrtc": "one server, empty, that compiles",
    "cold_4_without_nvrtc": "four servers, empty, that compile",
    "cold_4_without_nvrtc_one_dead": "the same, one of them dead",
    "warm_without_disk": "one server, warm, no disk caches",
    "warm": "one server, warm",
    "warm_4": "four servers, warm",
    "warm_4_one_dead": "the same, one of them dead",
    "warm_1024_connections": "one server, warm, 1024 connections",
    "cold_without_nvrtc_1024_connections": "one server, empty, that compiles, 1024 connections",
}
OFF_THE_PICTURE = ("warm_1024_connections", "cold_without_nvrtc_1024_connections")  # far longer
NAMES = {"50%": "half", "99%": "99 %"}
COLOURS = {"50%": "#9db8d9", "99%": "#2f5d9b"}

FLEET = """{processes} processes start at once on {machines} machines. Each one wants {wanted} programs of
{keys}, of which {common} are the same for all, one after the other. A program takes {least} to {most} s to
compile ({mean} s on average) and has {kilobytes} kB on average. A server has {cores} cores, {workers} workers,
a network card of {gigabits} Gbit/s, and spends {microseconds} µs of a core on a warm GET.

![Seconds until the processes are ready](pictures/service-fleet.svg)

"""

READ = """
*Given up*: a machine without NVRTC waited for {longest} s and got no program. *Peak*: requests to the busiest
server in the busiest second. Read from this:

- A warm service is {warm} times as fast as compiling on each machine, and one server is bound by its network card:
  four are {four} times as fast as one.
- Where machines have NVRTC and the service has nothing, all of them compile the first keys at the same
  time: {cold} compilations of {keys} keys. Where the service compiles, it is {once}, at the price of waiting for its
  workers. Warming up from a list before the start costs {once} compilations too, and nobody waits.
- A dead server costs {dead} s in all and no compilation on the machines, since each process finds out once.
- A bound on connections below the number of processes is worse than no service where machines cannot
  compile. Raise `--max-connections`, or put a proxy in front that shares connections.

A miss costs what a compilation costs: {mean} s on average here. A hit costs {hit} ms of an unloaded server.

{origin} Taken from measurements: {measured}. The rest is assumed, and is in the file.
"""

LOAD = """{clients} clients with a connection each ask for {entries} programs of {kilobytes} kB on average, {rate} requests per
second all together at fixed times for {seconds} s. The server and the clients share {processors} processors. A request
that waits for a free client has waited since it was due.

"""


def origin(file, report):
    return (f"{report['machine']}; {report['commit']}, {report['date']}; "
            f"[{file}](../bench/results/{file}).")


def peak(result):
    return max((shard["peak_requests_per_second"] for shard in result["shards"]), default=0)


def fleet_rows(scenarios):
    for name, title in SCENARIOS.items():
        result = scenarios[name]
        ready = result["seconds_until_ready"]
        yield [title, *(figure(ready[share]) for share in ("50%", "99%", "all")),
               str(result["compilations"]), str(result["without_a_program"] or ""),
               str(peak(result) or "")]


def fleet_section(file, report):
    chosen, scenarios = report["parameters"], report["scenarios"]
    until = lambda name: scenarios[name]["seconds_until_ready"]["99%"]
    seconds, size = chosen["compile_seconds"], chosen["entry_bytes"]["mean"]
    head = FLEET.format(
        processes=report["processes"], machines=chosen["machines"],
        wanted=chosen["common_keys"] + chosen["own_keys"], keys=seconds["count"],
        common=chosen["common_keys"], least=figure(seconds["min"]), most=figure(seconds["max"]),
        mean=figure(seconds["mean"]), kilobytes=figure(size / 1000), cores=chosen["server_cores"],
        workers=chosen["server_workers"],
        gigabits=f"{chosen['card_bytes_per_second'] * 8e-9:.0f}",
        microseconds=f"{chosen['get_seconds'] * 1e6:.0f}")
    hit = (2 * chosen["round_trip"] + chosen["handshake_seconds"] + chosen["get_seconds"] +
           size / chosen["card_bytes_per_second"])
    read = READ.format(
        longest=f"{chosen['longest_compilation']:.0f}", warm=figure(until("disk") / until("warm")),
        four=figure(until("warm") / until("warm_4")), cold=scenarios["cold"]["compilations"],
        once=scenarios["cold_without_nvrtc"]["compilations"], keys=seconds["count"],
        dead=figure(until("warm_4_one_dead") - until("warm_4")), mean=figure(seconds["mean"]),
        hit=figure(hit * 1000), origin=origin(file, report),
        measured="; ".join(f"`{name}` ({where})" for name, where in report["measured"].items()))
    columns = ["", "half ready, s", "99 %", "all", "compilations", "given up", "peak, 1/s"]
    return head + table(columns, fleet_rows(scenarios)) + read


def picture(report):
    groups = [(title, [(share, report["scenarios"][name]["seconds_until_ready"][share])
                       for share in NAMES])
              for name, title in SCENARIOS.items() if name not in OFF_THE_PICTURE]
    return bars("Seconds until processes are ready", groups, NAMES, COLOURS)


def load_section(file, report):
    paced, closed = report["paced"], report["closed"]
    head = LOAD.format(clients=paced["clients"], entries=report["entries"],
                       kilobytes=figure(report["entry_bytes"] / 1000), rate=f"{paced['rate']:.0f}",
                       seconds=f"{paced['seconds']:.0f}", processors=report["processors"])
    rows = [[title, f"{run['requests_per_second']:.0f}",
             *(figure(run["milliseconds"][q]) for q in ("p50", "p99", "p99.9", "max")),
             str(run["failed"] + run["wrong"] + run["unanswered"])]
            for title, run in (("at that rate", paced), ("as fast as answers come", closed))]
    memory = paced["resident_bytes"]
    if report["real_time"]:
        head += ("The machine had other work; the server and the clients had real-time priority "
                 "before it (`chrt -r 5`).\n\n")
    after = (f"\nThe server's memory was {figure(memory['middle'] / 2**20)} MiB in the middle of the "
             f"first run and {figure(memory['last'] / 2**20)} MiB at its end. "
             f"{origin(file, report)}\n")
    return head + table(["", "1/s", "p50, ms", "p99", "p99.9", "max", "errors"], rows) + after


ABUSE = """In the tests, for some seconds each, and once for longer:

- **Malformed requests** ({fuzz_where}). {cases} connections in {fuzz_seconds} s: right requests with bytes changed,
  cut, doubled and put in, lies about lengths, chunks, huge heads, pipelines, in pieces and with the end in the
  middle. {answers} answers, of which {refused} refused; none with a status that is not documented, no entry without
  a token. The memory went from {before} to {most} MiB.
- **A store that is killed, stopped, emptied and changed** ({chaos_where}). {deeds} deeds in {chaos_seconds} s, while
  {clients} processes at a time compiled beside it: {compilations} programs, all of them right, {remote} out of the
  store. The longest took {longest} s.
"""


def abuse_section(file, report):
    fuzz, chaos = report["malformed_requests"], report["stores"]
    where = lambda part: f"{part['commit']}, {part['date']}"
    text = ABUSE.format(
        fuzz_where=where(fuzz), cases=fuzz["cases"], fuzz_seconds=f"{fuzz['seconds']:.0f}",
        answers=sum(fuzz["statuses"].values()),
        refused=sum(count for status, count in fuzz["statuses"].items() if int(status) >= 400),
        before=figure(fuzz["resident_bytes"]["before"] / 2**20),
        most=figure(fuzz["resident_bytes"]["most"] / 2**20), chaos_where=where(chaos),
        deeds=sum(count for name, count in chaos["deeds"].items() if not name.startswith("in ")),
        chaos_seconds=f"{chaos['seconds']:.0f}", clients=chaos["clients"],
        compilations=sum(chaos["tiers"].values()), remote=chaos["tiers"].get("remote", 0),
        longest=figure(chaos["most_seconds"]))
    wrong = [*fuzz["wrong"], *chaos["wrong"]]
    if wrong:
        sys.exit(f"{file} has found something: mend it, and measure again: {wrong[0]}")
    return text + f"\n{fuzz['machine']}; [{file}](../bench/results/{file}).\n"


# Who writes what stands between the marks of a name on the page, and the file that it is from.
SECTIONS = {"simulation": (fleet_section, "fleet-simulation.json"),
            "load": (load_section, "service-load.json"),
            "abuse": (abuse_section, "service-abuse.json")}


def generated():
    """What the files should hold, by path."""
    page, files = PAGE.read_text(encoding="utf-8"), {}
    for name, (writer, file) in SECTIONS.items():
        report = json.loads((RESULTS / file).read_text(encoding="utf-8"))
        marks = re.compile(rf"(<!-- figures: {name} -->\n).*?(<!-- end of figures -->)", re.DOTALL)
        text = writer(file, report)
        page, count = marks.subn(lambda found: f"{found[1]}\n{text}\n{found[2]}", page)
        if count != 1:
            sys.exit(f"{PAGE} has {count} places for the figures of {name}")
        if name == "simulation":
            files[PICTURE] = picture(report)
    return {PAGE: page, **files}


if __name__ == "__main__":
    write_or_check(generated(), "bench/report_service.py", __doc__)
