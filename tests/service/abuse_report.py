"""What a long run has seen, as a part of bench/results/service-abuse.json."""
import datetime
import json
import os
import pathlib
import platform


def add_options(parser):
    parser.add_argument("--report", type=pathlib.Path, help="where to write what was seen")
    parser.add_argument("--commit", default="")


def write(arguments, part, seen):
    """Replaces one part of the report, if one is wanted."""
    if not arguments.report:
        return
    report = {"kind": "service_abuse"}
    if arguments.report.exists():
        report = json.loads(arguments.report.read_text(encoding="utf-8"))
    report[part] = {"date": datetime.date.today().isoformat(), "commit": arguments.commit,
                    "machine": f"{platform.machine()}, {os.cpu_count()} processors", **seen}
    arguments.report.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
