"""What `scripts/benchmark compare` measures: assay compare and assay report on pairs of runs of 1 GB each."""

import os
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

MEGABYTES, QUICK_MEGABYTES = 1000, 100  # of one run; checkpoints have 100 each
LIMITS = {"compare": 4.0, "report": 10.0}  # seconds for 1 GB each, on 2 processors
KINDS = {
    "steps": "digests, the last step differs",
    "steps_apart": "digests, all steps differ",
    "checkpoints": "checkpoints, one element differs",
    "checkpoints_apart": "checkpoints, all differ",
}


def measure(command):
    """Seconds by the wall and of the processors, and the most memory in MB, of one call with its children."""
    begin = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def rows(writer, assay, options, failed):
    """One row for each pair and command, as soon as it was measured. The pairs are removed again."""
    megabytes = QUICK_MEGABYTES if options.quick else MEGABYTES
    with tempfile.TemporaryDirectory(prefix="assay-runs-") as folder:
        free = shutil.disk_usage(folder).free
        if free < 3 * megabytes * 1_000_000:
            raise failed(f"{folder}: {free / 1e9:.1f} GB free, needed {3 * megabytes / 1000} (TMPDIR names another)")
        for kind, text in KINDS.items():
            if options.case not in text:
                continue
            pair = Path(folder) / kind
            pair.mkdir()
            if subprocess.run([writer, "runs", kind, pair, str(megabytes)]).returncode:
                raise failed(f"{writer} could not write the runs {kind}")
            runs = [pair / "a", pair / "b"]
            commands = {"compare": [assay, "compare", *runs],
                        "report": [assay, "report", *runs, "--out", pair / "report"]}
            for name, command in commands.items():
                if expected_status(name) != measure(command)[0]:  # and the page cache is warm now
                    raise failed(f"assay {name} ended with another status than {expected_status(name)}")
                samples = [measure(command) for _ in range(options.rounds)]
                wall, processor = (statistics.median(sample[i] for sample in samples) for i in (1, 2))
                yield {"case": f"{name}: {text}", "seconds": wall, "processor_seconds": processor,
                       "most_megabytes": max(sample[3] for sample in samples),
                       "limit": None if options.quick else LIMITS[name]}
            shutil.rmtree(pair)


def expected_status(name):
    return 1 if name == "compare" else 0
