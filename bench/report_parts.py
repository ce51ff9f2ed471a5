"""What the pages with measurements are made of: figures, tables, bar charts; and how they are written."""
import argparse
import html
import sys

BAR, GAP, LEFT, WIDTH, TOP = 11, 9, 310, 520, 48


def figure(value):
    """Three significant digits, without an exponent."""
    if 0 < value < 0.001:
        return "< 0.001"
    digits = 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 1 else 3
    return f"{value:.{digits}f}"


def row_of(words):
    return "| " + " | ".join(words) + " |"


def table(head, rows):
    return "\n".join([row_of(head), row_of("---" for _ in head), *map(row_of, rows)]) + "\n"


def text(x, y, content, **attributes):
    extra = "".join(f' {k.replace("_", "-")}="{v}"' for k, v in attributes.items())
    return f'<text x="{x}" y="{y}"{extra}>{html.escape(content)}</text>'


def bars(heading, groups, names, colours):
    """A chart of horizontal bars as SVG. `groups`: (label, [(who, value)]); `names` and `colours`
    by who, in the order of the legend."""
    longest = max(value for _, group in groups for _, value in group)
    parts = [text(16, 22, heading, font_size=15, font_weight="bold")]
    x = LEFT
    for who, name in names.items():
        if any(who == other for _, group in groups for other, _ in group):
            parts.append(f'<rect x="{x}" y="31" width="10" height="10" fill="{colours[who]}"/>')
            parts.append(text(x + 14, 40, name))
            x += 120
    y = TOP + 4
    for label, group in groups:
        parts.append(text(LEFT - 8, y + BAR * len(group) / 2 + 4, label, text_anchor="end"))
        for who, value in group:
            length = WIDTH * value / longest
            parts.append(f'<rect x="{LEFT}" y="{y}" width="{length:.1f}" height="{BAR - 1}" '
                         f'fill="{colours[who]}"/>')
            parts.append(text(f"{LEFT + length + 4:.1f}", y + BAR - 2, figure(value), font_size=10))
            y += BAR
        y += GAP
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 60}" height="{y + 8}" '
        'font-family="sans-serif" font-size="12" fill="#222">',
        '<rect width="100%" height="100%" fill="#ffffff"/>', *parts, "</svg>"]) + "\n"


def write_or_check(files, command, description):
    """Writes the files, path -> content; with --check nothing, and fails if one is another."""
    parser = argparse.ArgumentParser(description=description.split("\n\n")[0])
    parser.add_argument("--check", action="store_true",
                        help="write nothing; fail if a file is not what bench/results gives")
    check = parser.parse_args().check
    stale = False
    for path, content in files.items():
        if not check:
            path.write_text(content, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != content:
            stale = True
            print(f"{path} is not what bench/results gives: "
                  f"run {command}", file=sys.stderr)
    sys.exit(1 if stale else 0)
