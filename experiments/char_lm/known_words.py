#!/usr/bin/python3
"""The share of a text's words that occur in what full.toml trains on: known_words.py SAMPLE"""

import re
import subprocess
import sys
from pathlib import Path

HELD_BACK = 2000 * 128  # bytes of validation and test, at the end


def words(text):
    return re.findall("[a-z]+", text.lower())


printed = subprocess.run(["bible", "-p", "/usr/lib", "-f", "gen1:1-rev22:21"], capture_output=True, text=True, check=True)
verses = "".join(line.split(" ", 1)[1] + "\n" for line in printed.stdout.splitlines())
known = set(words(verses[:-HELD_BACK]))
found = words(Path(sys.argv[1]).read_text(errors="replace"))
strange = [word for word in found if word not in known]
print(f"{len(found) - len(strange)} of {len(found)} words, {1 - len(strange) / len(found):.1%}; not: {', '.join(strange)}")
