#!/usr/bin/env python3
"""Reads the pages that `attnc explain --html` writes and compares them with its JSON.

A page has to be well-formed, to fetch nothing and to run nothing; its spec, IR and code have to be
those of the spec; every nest has to have its picture.

usage: check_page.py ATTNC SPEC.json...
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

TARGETS = ["cpu", "sm_80", "sm_90a"]
# What would load or run something.
FORBIDDEN = {"script", "link", "img", "iframe", "object", "embed", "image", "use", "base", "form"}

HOSTILE = """{
  // </pre><script>alert(1)</script> &amp; \u202e \x1b[31m
  "attnc": 1, "name": "hostile", "doc": "a < b && \\"c\\" </title></main><script>x</script> ]]>",
  "inputs": {"κλειδί": "f32[b,j,d]", "запрос": "f32[b,i,d]"},
  "body": ["得点 = sum(d, запрос[b,i,d] * κλειδί[b,j,d])",
           "o[b,i] = logsumexp(j, 得点)"],
  "outputs": {"o": "f32"},
  "reference": {"shape": {"b": 2, "i": 5, "j": 7, "d": 4}}
}
"""


class Wrong(Exception):
    """What is wrong with a page."""


def require(holds, what):
    if not holds:
        raise Wrong(what)


def explain(attnc, arguments):
    # Registers are not looked at: without NVRTC it is quick, and the same on every machine.
    return subprocess.run([attnc, "explain", *arguments], capture_output=True, text=True,
                          timeout=300, check=False, env={**os.environ, "ATTNC_NVRTC": "/none"})


def text_of(element):
    return "".join(element.itertext())


def sections(root):
    return {section.get("id"): section for section in root.iter("section")}


def check_self_contained(root):
    ids = {element.get("id") for element in root.iter() if element.get("id")}
    for element in root.iter():
        require(element.tag not in FORBIDDEN, f"<{element.tag}>")
        for name, value in element.attrib.items():
            require(not name.startswith("on") and name not in ("src", "srcset"), name)
            require("url(" not in value, value)
            if name.endswith("href"):
                require(value.startswith("#") and value[1:] in ids, f"a link to {value}")
    style = text_of(root.find("head/style"))
    require("url(" not in style and "@import" not in style, "the style sheet loads something")


def lines_of(pre, kinds):
    """The lines of a code block that are of these kinds."""
    return "".join(text_of(line) for line in pre.iter("span") if line.get("class") in kinds)


def same(shown, expected, what):
    require(shown.rstrip("\n") == expected.rstrip("\n"), f"{what} differs:\n{shown[:400]}")


def check_passes(section, report):
    folded = section.findall("details")
    passes = report["passes"]
    require(len(folded) == 1 + len(passes), f"{len(folded)} texts of IR")
    same(text_of(folded[0].find("pre")), report["attn"], "the attn program")
    before = report["attn"]
    for one, details in zip(passes, folded[1:]):
        summary = text_of(details.find("summary"))
        require(one["name"] in summary and one["summary"] in summary, f"the heading {summary}")
        pre = details.find("pre")
        same(lines_of(pre, ("line", "line added")), one["ir"], one["name"])
        if "all of it is new" not in summary:
            count = sum(line.get("class") == "line removed" for line in pre.iter("span"))
            kept = sum(line.get("class") == "line" for line in pre.iter("span"))
            require(count + kept == len(before.rstrip("\n").split("\n")),
                    f"{one['name']}: {count} lines gone, {kept} kept")
        before = one["ir"]


def check_kernels(section, report):
    rules = {text_of(name): text_of(algebra) for name, algebra in
             zip(section.findall("dl/dt"), section.findall("dl/dd"))}
    require(rules == report["rules"], f"the rules are {rules}")
    applied = {step["rule"] for kernel in report["kernels"] for step in kernel["derivation"]}
    require(set(rules) == applied, f"rules {set(rules)}, applied {applied}")
    articles = section.findall("article")
    require(len(articles) == len(report["kernels"]), f"{len(articles)} nests")
    for article, kernel in zip(articles, report["kernels"]):
        require(text_of(article.find("h3")) == kernel["kernel"], f"no nest {kernel['kernel']}")
        pictures = list(article.iter("svg"))
        require(len(pictures) == 1, f"{len(pictures)} pictures of {kernel['kernel']}")
        said = text_of(article)
        for tensor in kernel["streamed"] + kernel["resident"]:
            require(f"{tensor['name']}: {tensor['dtype']}[" in said, f"nothing of {tensor['name']}")
        for line in kernel["states"] + [step["text"] for step in kernel["derivation"]]:
            require(line.replace("`", "") in said, f"{kernel['kernel']} does not say: {line}")
        drawn = {rect.get("class") for rect in pictures[0].iter("rect")}
        for kind, present in [("streamed", kernel["streamed"]), ("resident", kernel["resident"]),
                              ("state", kernel["states"]), ("between", kernel["intermediates"])]:
            require((kind in drawn) == bool(present), f"{kernel['kernel']}: {kind} drawn wrongly")


def check_work(section, report):
    cells = [[text_of(cell) for cell in row] for row in section.find("div/table")]
    if cells[0][1] != report["kernels"][0]["kernel"]:
        cells = list(zip(*cells))
    names = [kernel["kernel"] for kernel in report["kernels"]]
    require(list(cells[0][1:]) == names + ["all"] * (len(names) > 1), f"the table is of {cells[0]}")
    rows = {row[0]: row[1:] for row in cells[1:]}
    for at, kernel in enumerate(report["kernels"]):
        for row, key in [("FLOP in products", "product_flops"), ("bytes read", "bytes_read")]:
            known = key in kernel["work"]
            require((rows[row][at] != "not known") == known, f"{row} of {kernel['kernel']}")
    for key in ("special", "bytes_read", "bytes_written"):
        parts = [kernel["work"].get(key) for kernel in report["kernels"]]
        whole = report["total_work"].get(key)
        require(whole is None if None in parts else abs(whole - sum(parts)) <= 1e-9 * sum(parts),
                f"{key} in all is {whole}, of {parts}")
    said = text_of(section)
    for tensor in report["materialised"]:
        require(tensor["name"] in said, f"{tensor['name']} goes through memory unsaid")


def check(attnc, spec, target, folder):
    page = folder / "page.html"
    run = explain(attnc, [str(spec), "--target", target, "--html", str(page), "--json", "--ir"]
                  + (["--cuda"] if target != "cpu" else []))
    require(run.returncode == 0, f"exits with {run.returncode}: {run.stderr}")
    report = json.loads(run.stdout)
    text = page.read_text(encoding="utf-8")
    require(text.startswith("<!DOCTYPE html>\n"), "no doctype")
    root = ElementTree.fromstring(text)
    check_self_contained(root)
    parts = sections(root)
    require(list(parts) == ["spec", "kernels", "work", "passes", "code"], f"sections {list(parts)}")
    require(text_of(root.find("body/header/h1")) == report["spec"], "another name")
    source = spec.read_text(encoding="utf-8").replace("\x1b", "\u241b")
    same(text_of(parts["spec"].find("pre")), source, "the spec")
    check_kernels(parts["kernels"], report)
    check_work(parts["work"], report)
    check_passes(parts["passes"], report)
    code = [text_of(pre) for pre in parts["code"].iter("pre")]
    expected = list(report.get("cuda", {}).values())
    require(len(code) == len(expected), f"{len(code)} pieces of code")
    for shown, source in zip(code, expected):
        same(shown, source, "the CUDA")


def check_failures(attnc, spec, folder):
    """Files that cannot be written."""
    for file in [folder, folder / "no" / "such" / "page.html", pathlib.Path("/dev/full")]:
        run = explain(attnc, [str(spec), "--target", "cpu", "--html", str(file)])
        require(run.returncode == 4, f"writing to {file} exits with {run.returncode}")
        require(f"'{file}' cannot be written" in run.stderr, f"{file}: {run.stderr}")
        require(run.stdout == "", "something on stdout")


def main():
    attnc, specs = sys.argv[1], [pathlib.Path(name) for name in sys.argv[2:]]
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        hostile = folder / "hostile.json"
        hostile.write_text(HOSTILE, encoding="utf-8")
        checks = [(lambda s=s, t=t: check(attnc, s, t, folder), f"{s.name} for {t}")
                  for s in [*specs, hostile] for t in TARGETS]
        checks.append((lambda: check_failures(attnc, hostile, folder), "what cannot be written"))
        for run, what in checks:
            try:
                run()
            except (Wrong, ElementTree.ParseError, json.JSONDecodeError) as error:
                print(f"{what}: {error}", file=sys.stderr)
                wrong += 1
    print(f"{len(checks)} checks, {wrong} mistakes")
    sys.exit(1 if wrong or not specs else 0)


if __name__ == "__main__":
    main()
