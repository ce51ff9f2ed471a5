"""What mkdocs does not know of these docs: README is their first page, links lead to files outside
of docs/, and the marks of the tests stand behind the languages of code blocks.

A file outside of docs/ that a page links to is on the site too, below source/: Markdown as a page,
all else as plain text. A folder has no page: of a link to one, its path remains.
"""
import pathlib
import posixpath
import re

from mkdocs.structure.files import File

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
LINK = re.compile(r"(?P<before>!?\[(?P<label>(?:[^\[\]]|\[[^\]]*\])*)\])"
                  r"\((?P<path>[^():#\s]+)(?P<anchor>#[^)\s]*)?\)")
FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*) *(?P<mark>.*)$")
FILE_MARK = re.compile(r"tutorial: (\S+)$")

origins = {}  # of a page that is not in docs/: its path in the repository


def place(path):
    """Where a file of the repository is on the site."""
    if path == "README.md":
        return "index.md"
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return f"source/{path}" if path.endswith(".md") else f"source/{path}.txt"


def parts(text):
    """Yields (text, whether it is prose): what is between code blocks, and each line of these."""
    prose, inside = [], False
    for line in text.splitlines():
        fence = line.lstrip().startswith("```")
        if fence or inside:
            if prose:
                yield "\n".join(prose), True
            yield line, False
            prose, inside = [], inside ^ fence
        else:
            prose.append(line)
    if prose:
        yield "\n".join(prose), True


def linked(path, text):
    """The files outside of docs/ that a file links to, as paths in the repository."""
    for part, prose in parts(text):
        for match in LINK.finditer(part) if prose else ():
            target = posixpath.normpath(posixpath.join(posixpath.dirname(path), match["path"]))
            if (REPOSITORY / target).is_file() and not target.startswith("docs/"):
                yield target


def on_files(files, config):
    waiting = [f"docs/{file.src_uri}" for file in files.documentation_pages()] + ["README.md"]
    seen = set(waiting)
    while waiting:
        path = waiting.pop()
        text = (REPOSITORY / path).read_text(encoding="utf-8")
        if not path.startswith("docs/"):
            origins[place(path)] = path
            files.append(File.generated(config, place(path), content=text))
        found = set(linked(path, text)) - seen if path.endswith(".md") else set()
        seen |= found
        waiting += sorted(found)
    return files


def link_on_site(match, path, page):
    target = posixpath.normpath(posixpath.join(posixpath.dirname(path), match["path"]))
    if (REPOSITORY / target).is_dir():
        named = match["label"].strip("`") == target
        return f"`{target}`" if named else f"{match['label']} (`{target}`)"
    uri = posixpath.relpath(place(target), posixpath.dirname(page) or ".")
    return f"{match['before']}({uri}{match['anchor'] or ''})"


def fence_on_site(line):
    """The language alone, and the name of the file if the block is one."""
    match = FENCE.match(line)
    if not match or not match["mark"]:
        return line
    file = FILE_MARK.search(match["mark"])
    title = f' title="{file[1]}"' if file else ""
    return f"{match['indent']}```{match['language']}{title}"


def on_page_markdown(markdown, page, config, files):
    uri = page.file.src_uri
    path = origins.get(uri, f"docs/{uri}")
    return "\n".join(LINK.sub(lambda match: link_on_site(match, path, uri), part) if prose
                     else fence_on_site(part) for part, prose in parts(markdown))
