"""Weights as SVG: a path for each level of weight, of runs along the rows.

Nothing is filled where the weight is 0, and the colours have no background of their own: a picture
is the same on a light page and on a dark one.
"""
import html

import numpy

LEVELS = 8
EXPONENT = 0.5  # of what a weight shows: rows of many small weights are not to vanish
POSITIVE, NEGATIVE, FRAME, WORDS = "#3b82f6", "#f97316", "#8b949e", "#7d8590"
CELL, GAP, LEFT, TOP = 5, 22, 22, 24


def levels(weights):
    """Integers from -LEVELS to LEVELS, 0 for what is nothing."""
    share = numpy.abs(weights) / numpy.abs(weights).max()
    share[share < 1e-4] = 0
    # A little less than half a unit: weights that are equal but for roundings are on one level.
    return (numpy.sign(weights) * numpy.ceil(share ** EXPONENT * LEVELS - 1e-6)).astype(int)


def runs(rows, level):
    """The cells of one level as strokes along rows, each drawn relative to the last."""
    parts, x, y = [], 0, 0
    for row, values in enumerate(rows):
        edges = numpy.flatnonzero(numpy.diff(numpy.concatenate(([0], values == level, [0]))))
        for start, end in edges.reshape(-1, 2):
            parts.append(f"m{start - x} {row - y}h{end - start}")
            x, y = end, row
    return "".join(parts).replace(" -", "-")


def panel(rows, left, top, title):
    """One matrix, its queries from top to bottom and its keys from left to right."""
    height, width = rows.shape
    parts = [f'<g transform="translate({left} {top}) scale({CELL})">']
    for level in sorted(set(rows[rows != 0].tolist())):
        colour = f' stroke="{NEGATIVE}"' if level < 0 else ""
        parts.append(f'<path{colour} stroke-opacity="{abs(level) / LEVELS:g}" '
                     f'd="M0 .5{runs(rows, level)}"/>')
    parts.append(f'<path d="M0 0h{width}v{height}h-{width}z" stroke="{FRAME}" '
                 'stroke-width=".2"/>')
    parts.append("</g>")
    if title:
        parts.append(f'<text x="{left}" y="{top - 6}">{html.escape(title)}</text>')
    return parts


def drawing(panels, width, height, label, font_size=12):
    """`panels`: lists of elements."""
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" aria-label="{html.escape(label)}" '
        f'font-family="system-ui, sans-serif" font-size="{font_size}" '
        f'fill="none" stroke="{POSITIVE}">',
        f"<style>text{{fill:{WORDS};stroke:none}}</style>",
        *(line for panel in panels for line in panel), "</svg>"]) + "\n"


def axes(left, height):
    """What lies along the sides."""
    middle = TOP + height / 2
    return [f'<text x="{LEFT - 8}" y="{middle:g}" text-anchor="middle" '
            f'transform="rotate(-90 {LEFT - 8} {middle:g})">queries</text>',
            f'<text x="{left}" y="{TOP + height + 16}">keys</text>']


def matrix(weights, titles, label):
    """Panels side by side, on one scale of weights."""
    rows = levels(weights)
    count, height, width = rows.shape
    panels = [panel(rows[n], LEFT + n * (width * CELL + GAP), TOP, titles[n]) for n in range(count)]
    total = LEFT + count * (width * CELL + GAP) - GAP + 2
    return drawing([*panels, axes(LEFT, height * CELL)], total, TOP + height * CELL + 24, label)


def strip(pictures):
    """One panel of each of several specs, side by side, with its name: (name, weights) each."""
    panels, left, bottom = [], 2, 0
    for name, weights in pictures:
        rows = levels(weights)
        height, width = rows.shape
        panels.append(panel(rows, left, TOP, name))
        left += width * CELL + GAP
        bottom = max(bottom, TOP + height * CELL)
    names = ", ".join(name for name, _ in pictures)
    # Large words: a page shows it at half its size.
    return drawing(panels, left - GAP + 2, bottom + 2, f"Weights of {names}", font_size=19)
