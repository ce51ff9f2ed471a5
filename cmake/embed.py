"""Writes a C++ source that carries text files: embed.py OUT NAMESPACE FILE...

The namespace gets `std::vector<std::pair<std::string_view, std::string_view>> files()`:
(path as given, text) in the order given.
"""
import sys

# A C++ string literal may be limited in length: long files are written as adjacent pieces.
PIECE = 8000


def literal(text):
    pieces = [text[i:i + PIECE] for i in range(0, len(text), PIECE)] or [""]
    return "\n".join(f'R"__embed__({piece})__embed__"' for piece in pieces)


def main(out, namespace, *paths):
    entries = []
    for path in paths:
        with open(path, encoding="utf-8") as f:
            entries.append(f'  {{"{path}",\n{literal(f.read())}}},')
    with open(out, "w", encoding="utf-8") as f:
        f.write("#include <string_view>\n#include <utility>\n#include <vector>\n")
        f.write(f"namespace {namespace} {{\n")
        f.write("std::vector<std::pair<std::string_view, std::string_view>> files();\n")
        f.write("std::vector<std::pair<std::string_view, std::string_view>> files() { return {\n")
        f.write("\n".join(entries))
        f.write("\n}; }\n}\n")


main(*sys.argv[1:])
