#!/usr/bin/env python3
"""Builds the site of the docs, strictly, and sees that a page needs nothing but the site: no
script, style, font or picture comes from elsewhere, and every file that it names is there.

Exits with 4 where mkdocs is not there and cannot be installed.

usage: check_site.py REPOSITORY
"""
import html.parser
import pathlib
import subprocess
import sys
import urllib.parse

LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}


class Resources(html.parser.HTMLParser):
    """What a page makes a browser load."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if (address := values.get(LOADED.get(tag))) and values.get("rel") not in ("next", "prev"):
            self.found.append(address)


def resources(page):
    parser = Resources()
    parser.feed(page.read_text(encoding="utf-8"))
    return parser.found


def complaints(site):
    for page in sorted(site.rglob("*.html")):
        # The page of errors is shown at any address, so what it names begins at the root.
        base = site if page.name == "404.html" else page.parent
        for address in resources(page):
            parts = urllib.parse.urlsplit(address)
            if parts.scheme == "data":
                continue
            if parts.scheme or parts.netloc:
                yield f"{page.relative_to(site)} loads {address}"
            elif not (base / parts.path.lstrip("/")).exists():
                yield f"{page.relative_to(site)} names {address}, which is not there"


def main():
    repository = pathlib.Path(sys.argv[1]).resolve()
    built = subprocess.run([repository / "dev", "docs"], check=False).returncode
    if built:
        sys.exit(built)
    site = repository / "build/site"
    wrong = list(complaints(site))
    if not (site / "search/search_index.js").exists():
        wrong.append("there is no index to search without a server")
    print("\n".join(wrong) or f"{len(list(site.rglob('*.html')))} pages")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
