#!/usr/bin/env python3
"""Makes the animated picture that opens README.md from a recording of the demo: docs/tour.py [BINARY]

Needs tmux. The screen is recorded while keys are pressed as a person presses them. A line of the screen that does not
change is stored once, so half a minute takes some hundred kilobytes. Standard library only.
"""
import os
import shutil
import sys
import tempfile
import time
from xml.sax.saxutils import escape

import capture

COLUMNS, LINES = 110, 32
FILE = "docs/src/images/tour.svg"
SERVER, PANE = f"tour-{os.getpid()}", "demo"


class Recording:
    """What was on the screen, from when on, and what the caption said."""

    def __init__(self):
        self.frames, self.started = [], None
        self.caption = ""

    def tmux(self, *words):
        return capture.tmux("-L", SERVER, *words)

    def look(self):
        screen = self.tmux("capture-pane", "-p", "-e", "-N", "-t", PANE)[:-1]
        if self.started is not None and (not self.frames or self.frames[-1][1:] != (screen, self.caption)):
            self.frames.append((time.monotonic() - self.started, screen, self.caption))
        return screen

    def plain(self):
        return self.tmux("capture-pane", "-p", "-t", PANE)

    def see(self, words, seconds=60):
        until = time.monotonic() + seconds
        while words not in self.plain():
            if time.monotonic() > until:
                sys.exit(f"not on the screen within {seconds} s: {words}\n{self.plain()}")
            self.look()
            time.sleep(0.1)

    def hold(self, seconds):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.look()
            time.sleep(0.1)

    def press(self, keys, seconds, caption=None):
        if caption is not None:
            self.caption = caption
        for key in keys.split():
            self.tmux("send-keys", "-t", PANE, key)
            self.hold(0.3)
        self.hold(seconds)


def tour(recording):
    recording.see("5 need you")
    recording.started = time.monotonic()
    recording.caption = "Bots work in chats. What needs a person waits in the Queue."
    recording.hold(3)
    recording.press("j", 3, "j: the card says what the call would do, and why that is risky")
    recording.press("NPage", 1.5, "pgdn: nothing can be allowed that was not shown")
    recording.press("a", 1, "a: it happens once, exactly as it was shown")
    if "HIGH RISK" in recording.plain():
        recording.press("a", 2)
    recording.hold(1.5)
    recording.press("2", 1.5, "2: every session, and what it does now")
    recording.press("/ j o n a s Enter j", 1)
    recording.press("Enter", 2.5, "enter: the transcript, with each call, its verdict and its result")
    recording.press("R space", 1, "R: the session again from its record")
    recording.caption = "]: step by step, with what each step did to files"
    for _ in range(20):
        if "as it was allowed" in recording.plain():
            break
        recording.press("]", 0.2)
    recording.hold(3)
    recording.press("Escape", 0.3)
    recording.press("4 j j j j j", 1, "4: the channels, with their health")
    recording.press("A j", 3.5, "A: what another level of autonomy would have let through")


def animated(recording):
    length = time.monotonic() - recording.started
    shown = {}
    for index, (start, screen, caption) in enumerate(recording.frames):
        end = recording.frames[index + 1][0] if index + 1 < len(recording.frames) else length
        start = 0 if index == 0 else start
        drawn = capture.rows(screen)[:LINES]
        drawn.append([words(caption)])
        for line, marks in enumerate(drawn):
            spans = shown.setdefault((line, "\n".join(marks)), [])
            if spans and spans[-1][1] == start:
                spans[-1][1] = end
            else:
                spans.append([start, end])
    marks = []
    for (_, mark), spans in shown.items():
        if mark:
            marks.append(mark if spans == [[0, length]] else timed(mark, spans, length))
    return capture.frame(COLUMNS, LINES + 1, marks)


def timed(mark, spans, length):
    times, values = [0], ["hidden"]
    for start, end in spans:
        for at, value in ((start, "visible"), (end, "hidden")):
            if at == times[-1]:
                values[-1] = value
            elif at < length:
                times.append(at)
                values.append(value)
    return (f'<g visibility="{values[0]}"><animate attributeName="visibility" calcMode="discrete" dur="{length:.1f}s" '
            f'repeatCount="indefinite" keyTimes="{";".join(f"{at / length:.4f}" for at in times)}" '
            f'values="{";".join(values)}"/>\n{mark}\n</g>')


def words(caption):
    y = capture.MARGIN + LINES * capture.CELL_H + capture.BASE + 2
    return f'<text x="{capture.MARGIN}" y="{y}" fill="#e0b860">{escape(caption)}</text>'


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    binary = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "target/release/leverframe")
    if not os.access(binary, os.X_OK):
        sys.exit(f"{binary} is no program: run `cargo build --release`, or name another one")
    home, recording = tempfile.mkdtemp(), Recording()
    path = os.environ["PATH"]
    program = (f"env -i HOME={home} PATH={path} LANG=C.UTF-8 TERM=xterm-256color COLORTERM=truecolor "
               f"{binary} --demo --theme dark")
    try:
        capture.tmux("-L", SERVER, "-f", "/dev/null", "new-session", "-d", "-s", PANE,
                     "-x", str(COLUMNS), "-y", str(LINES), program)
        tour(recording)
        picture = animated(recording)
    finally:
        capture.tmux("-L", SERVER, "kill-server")
        shutil.rmtree(home, ignore_errors=True)
    with open(FILE, "w", encoding="utf-8") as out:
        out.write(picture)
    seconds = time.monotonic() - recording.started
    print(f"{FILE}: {len(picture.encode())} bytes, {seconds:.0f} s")


main()
