#!/usr/bin/env python3
"""Turns a tmux pane into an SVG, so that the pictures in README.md and in the book are of the real program.

    tmux new-session -d -s lf -x 120 -y 36 'COLORTERM=truecolor leverframe --demo --theme dark'
    docs/capture.py lf docs/src/images/queue.svg

Standard library only. Every cell keeps its place whatever font the viewer has: a run of text carries its width, and
lines of boxes are drawn, not written.
"""
import re
import subprocess
import sys
from xml.sax.saxutils import escape

CELL_W, CELL_H, BASE, MARGIN = 8.4, 17, 12.5, 8
INK, NIGHT = "#c8ccd4", "#14171c"
SIXTEEN = ("#1d1f21 #cc6666 #8fbf7f #e0b860 #7fb4e8 #b695d8 #6fbdb5 #c8ccd4 "
           "#7d8590 #e0736c #a5d493 #f0cf86 #9cc8f5 #cdb2ea #8fd6ce #e6e9ef").split()
# Where the strokes of a box character go: left, right, up, down.
BOX = {"─": "lr", "│": "ud", "┌": "rd", "┐": "ld", "└": "ru", "┘": "lu", "├": "rud", "┤": "lud",
       "┬": "lrd", "┴": "lru", "┼": "lrud", "╭": "rd", "╮": "ld", "╰": "ru", "╯": "lu"}
SGR = re.compile(r"\x1b\[([0-9;:]*)m|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()][A-Z0-9]|[\x0e\x0f]")


def palette(number):
    if number < 16:
        return SIXTEEN[number]
    if number < 232:
        number -= 16
        steps = [0, 95, 135, 175, 215, 255]
        return "#%02x%02x%02x" % (steps[number // 36], steps[number // 6 % 6], steps[number % 6])
    return "#" + "%02x" % (8 + 10 * (number - 232)) * 3


class Style:
    def __init__(self):
        self.fg, self.bg, self.on = None, None, frozenset()

    def apply(self, codes):
        codes = [int(code or 0) for code in re.split("[;:]", codes)] or [0]
        while codes:
            code = codes.pop(0)
            if code == 0:
                self.__init__()
            elif code in (38, 48):
                kind = codes.pop(0)
                colour = palette(codes.pop(0)) if kind == 5 else "#%02x%02x%02x" % tuple(codes.pop(0) for _ in "rgb")
                self.fg, self.bg = (colour, self.bg) if code == 38 else (self.fg, colour)
            elif code in (1, 2, 3, 4, 7):
                self.on |= {code}
            elif 22 <= code <= 27:
                self.on -= {code - 20, 1 if code == 22 else 0}
            elif 30 <= code <= 37 or 90 <= code <= 97:
                self.fg = SIXTEEN[code - 30 if code < 90 else code - 82]
            elif 40 <= code <= 47 or 100 <= code <= 107:
                self.bg = SIXTEEN[code - 40 if code < 100 else code - 92]
            elif code == 39:
                self.fg = None
            elif code == 49:
                self.bg = None

    def key(self):
        fg, bg = self.fg or INK, self.bg or NIGHT
        return (bg, fg, self.on) if 7 in self.on else (fg, bg, self.on)


def cells(line, style):
    at = 0
    for found in SGR.finditer(line):
        yield from ((character, style.key()) for character in line[at:found.start()])
        if found.group(1) is not None:
            style.apply(found.group(1))
        at = found.end()
    yield from ((character, style.key()) for character in line[at:])


def row(line, style, y):
    """The marks of a line of the screen whose top is at y."""
    out, run, kept = [], [], list(cells(line, style))
    for column, (character, look) in enumerate(kept + [("", None)]):
        boxed = character in BOX
        if run and (look != run[0][2] or boxed or column == len(kept)):
            paint(out, run, y)
            run = []
        if boxed:
            strokes(out, character, column, y, look)
        elif character:
            run.append((column, character, look))
    return out


def rows(text):
    """The marks of each line of a screen."""
    style = Style()
    return [row(line, style, MARGIN + number * CELL_H) for number, line in enumerate(text.split("\n"))]


def frame(columns, lines, marks):
    """An SVG of so many columns and lines with these marks."""
    width, height = 2 * MARGIN + columns * CELL_W, 2 * MARGIN + lines * CELL_H
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
            f'height="{height:g}" font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,\'DejaVu Sans Mono\',monospace" '
            f'font-size="14" xml:space="preserve">\n<rect width="100%" height="100%" rx="6" fill="{NIGHT}"/>\n'
            + "\n".join(marks) + "\n</svg>\n")


def picture(text, columns):
    drawn = rows(text)
    return frame(columns, len(drawn), [mark for marks in drawn for mark in marks])


def paint(out, run, y):
    fg, bg, on = run[0][2]
    x, width = MARGIN + run[0][0] * CELL_W, len(run) * CELL_W
    if bg != NIGHT:
        out.append(f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{CELL_H}" fill="{bg}"/>')
    # One <text> a word: spaces need no ink, and a viewer's own font cannot push later words aside.
    text = "".join(character for _, character, _ in run)
    for word in re.finditer(r"\S+(?: \S+)*", text):
        look = ' font-weight="bold"' if 1 in on else ""
        look += ' font-style="italic"' if 3 in on else ""
        look += ' text-decoration="underline"' if 4 in on else ""
        look += ' opacity="0.6"' if 2 in on else ""
        out.append(f'<text x="{x + word.start() * CELL_W:.1f}" y="{y + BASE}" textLength="{len(word.group()) * CELL_W:.1f}" '
                   f'fill="{fg}"{look}>{escape(word.group())}</text>')


def strokes(out, character, column, y, look):
    x, mid_y = MARGIN + column * CELL_W, y + CELL_H / 2
    mid_x, ends = x + CELL_W / 2, {"l": (x, mid_y), "r": (x + CELL_W, mid_y), "u": (x + CELL_W / 2, y), "d": (x + CELL_W / 2, y + CELL_H)}
    path = "".join(f"M{mid_x:.1f} {mid_y:.1f}L{ends[way][0]:.1f} {ends[way][1]:.1f}" for way in BOX[character])
    last = out[-1] if out else ""
    head = f'<path stroke="{look[0]}" fill="none" d="'
    out[-1:] = [last[:-3] + path + '"/>'] if last.startswith(head) else [*out[-1:], head + path + '"/>']


def tmux(*words):
    return subprocess.run(["tmux", *words], check=True, capture_output=True, text=True).stdout


def main():
    *server, target, file = sys.argv[1:]
    size = tmux(*server, "display-message", "-p", "-t", target, "#{pane_width}")
    screen = tmux(*server, "capture-pane", "-p", "-e", "-N", "-t", target).rstrip("\n")
    with open(file, "w", encoding="utf-8") as out:
        out.write(picture(screen, int(size)))


if __name__ == "__main__":
    main()
