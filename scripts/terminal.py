"""One line per stage of a long job: what runs, how far it is, how long it took; its output goes to a log file."""

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

COLOURS = sys.stdout.isatty() and "NO_COLOR" not in os.environ
NAME_WIDTH = 34


def paint(text, code):
    return f"\033[{code}m{text}\033[0m" if COLOURS else text


def heading(text):
    print(paint(text, "1"), flush=True)


def duration(seconds):
    return f"{seconds:.1f} s" if seconds < 100 else f"{int(seconds) // 60} min {int(seconds) % 60:02d} s"


class StageFailed(Exception):
    """A stage that did not go as it must; `log` is the file with all that it printed."""

    def __init__(self, name, reason, log):
        super().__init__(f"{name}: {reason}")
        self.log = log


class Stages:
    """Runs commands as named stages, with their output in `folder`."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.started = time.monotonic()

    def run(self, name, command, accept=(0,), note=None, **options):
        """Runs `command` and returns (exit status, its output). An exit status not in `accept` raises StageFailed.

        The line shows a failure unless it is 0. `note` turns the output into what stands at the end of the line.
        """
        log = self.folder / (re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") + ".log")
        begin = time.monotonic()
        with open(log, "wb") as output:
            process = subprocess.Popen(
                [str(part) for part in command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                **options,
            )
            while True:
                try:
                    status = process.wait(timeout=0.5)
                    break
                except subprocess.TimeoutExpired:
                    self._progress(name, time.monotonic() - begin, log)
        text = log.read_text(errors="replace")
        good = status in accept
        self._finish(name, time.monotonic() - begin, status == 0, note(text) if good and note else "")
        if not good:
            raise StageFailed(name, f"exit status {status}", log)
        return status, text

    def done(self, name, seconds, good, note=""):
        """A stage that the caller ran itself."""
        self._finish(name, seconds, good, note)

    def _progress(self, name, seconds, log):
        if not COLOURS:
            return
        with open(log, "rb") as output:
            output.seek(max(0, log.stat().st_size - 400))
            lines = re.split(r"[\r\n]+", output.read().decode(errors="replace").strip())
        room = shutil.get_terminal_size().columns - NAME_WIDTH - 24
        last = re.sub(r"\x1b\[[0-9;]*m", "", lines[-1])[: max(0, room)]
        print(f"\r\033[K  {name:<{NAME_WIDTH}} ...  {duration(seconds):>12}   {last}", end="", flush=True)

    def _finish(self, name, seconds, good, note):
        if COLOURS:
            print("\r\033[K", end="")
        mark = paint("ok  ", "32") if good else paint("FAIL", "31;1")
        print(f"  {name:<{NAME_WIDTH}} {mark} {duration(seconds):>12}   {note}".rstrip(), flush=True)


def table(rows, header):
    """Rows of texts as aligned columns under `header`."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    for row in [header, *rows]:
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
        print("  " + (paint(line, "1") if row is header else line))
