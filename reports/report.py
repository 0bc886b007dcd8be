# The report of one or more runs: a page, a JSON file and figures, from run files and comparisons only.
"""report.py --out DIR --comparisons FILE RUN… writes DIR/index.html, report.json and figures/*.svg, *.png.

The same input gives the same bytes. A refused input leaves DIR as it was and exits with 2.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
import page
from read_run import ReportError, read_run
from verdict import check_comparisons


def letter(index):
    """A, B, … Z, AA, AB …"""
    return ("" if index < 26 else letter(index // 26 - 1)) + chr(ord("A") + index % 26)


def read_comparisons(path):
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ReportError("FILE-6", f"read {path}", "a JSON list of comparisons", str(error)) from None


def replace_outputs(files, out):
    """Writes `files` (name -> bytes) into a folder in `out`, then moves each into place: none is seen half written."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=".report-", dir=out))
    except OSError as error:
        raise ReportError("FILE-2", f"write {out}", "a folder that can be written", error.strerror) from None
    try:
        for name, data in files.items():
            (work / name).parent.mkdir(parents=True, exist_ok=True)
            (work / name).write_bytes(data)
        shutil.rmtree(out / "figures", ignore_errors=True)
        for name in sorted({name.split("/")[0] for name in files}):
            os.replace(work / name, out / name)
    except OSError as error:
        raise ReportError("FILE-2", f"write {out}", "room and permission for the report", error.strerror) from None
    finally:
        shutil.rmtree(work, ignore_errors=True)


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="report.py", description="Writes the report of one or more runs.",
                                     epilog="example: report.py --out report --comparisons pairs.json runs/a runs/b")
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="folder for index.html and the rest")
    parser.add_argument("--comparisons", required=True, metavar="FILE",
                        help="the first run against each other one, as `assay compare --json` writes them")
    parser.add_argument("--map", metavar="FILE", help="names of the other runs, and what the first one calls the same")
    parser.add_argument("runs", nargs="+", metavar="RUN", help="a run folder")
    options = parser.parse_args(arguments)
    try:
        runs = [read_run(folder, letter(i)) for i, folder in enumerate(options.runs)]
        if options.map:
            for run in runs[1:]:
                run.rename(options.map)
        comparisons = read_comparisons(options.comparisons)
        check_comparisons(comparisons, runs, options.comparisons)
        growths = [row["growth"] for row in comparisons if row.get("growth")]
        nulls = [read_run(null["run"], null["kind"]) for null in growths[0]["nulls"]] if growths else []
        replace_outputs(page.build(runs, comparisons, nulls), options.out)
    except ReportError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(options.out / "index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
