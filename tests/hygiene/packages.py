"""The package lists of scripts/lib.sh: known packages, asked for before they are installed, never CUDA."""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

from repository import ROOT

# Stand-ins for a machine on which nothing is installed; `apt-get` records what it is asked to do.
DPKG = "#!/bin/sh\nexit 1\n"
APT = """#!/bin/sh
echo "$@" >> "$CALLS"
case "$*" in *--assume-no*)
  echo "0 upgraded, 93 newly installed, 0 to remove and 0 not upgraded."
  echo "Need to get 81.2 MB of archives."
  echo "After this operation, 412 MB of additional disk space will be used."; exit 1 ;;
esac
"""


class Packages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        for name, text in (("dpkg-query", DPKG), ("apt-get", APT), ("sudo", '#!/bin/sh\nexec "$@"\n')):
            (self.folder / name).write_text(text)
            (self.folder / name).chmod(0o755)
        self.calls = self.folder / "calls"
        self.calls.touch()

    def run_script(self, *arguments, answer=""):
        environment = {
            **os.environ,
            "PATH": f"{self.folder}:{os.environ['PATH']}",
            "CALLS": str(self.calls),
            "TMPDIR": str(self.folder),
        }
        return subprocess.run(
            ["bash", *arguments], cwd=ROOT, env=environment, input=answer, capture_output=True, text=True
        )

    def installed(self):
        return [call for call in self.calls.read_text().splitlines() if "--yes install" in call]

    def need(self, consent, answer=""):
        script = f'. scripts/lib.sh; need_packages {consent} "${{packages_to_run[@]}}"; echo "went on"'
        return self.run_script("-c", script, answer=answer)

    def test_no_install_lists_number_and_size_and_exits_with_2(self):
        for script in (["scripts/quickstart"], ["scripts/test"], ["scripts/benchmark", "gemm"]):
            done = self.run_script(*script, "--no-install")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertRegex(done.stdout, r"\d+ of the \d+ Debian packages needed here are missing:")
            self.assertIn("libhdf5-dev", done.stdout)
            self.assertIn("93 packages with what they depend on", done.stdout)
            self.assertIn("Need to get 81.2 MB", done.stdout)
            self.assertIn("412 MB of additional disk space", done.stdout)
        self.assertEqual(self.installed(), [])

    def test_yes_installs_without_a_question(self):
        done = self.need("yes")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("[Y/n]", done.stdout)
        self.assertTrue(done.stdout.endswith("went on\n"))
        self.assertEqual(len(self.installed()), 1)
        self.assertIn("--no-install-recommends", self.installed()[0])

    def test_without_yes_it_asks_and_no_installs_nothing(self):
        for answer, status, times in (("n\n", 2, 0), ("", 2, 0), ("y\n", 0, 1)):
            self.calls.write_text("")
            done = self.need("ask", answer)
            self.assertIn("Install them now? [Y/n]", done.stdout)
            self.assertEqual((done.returncode, len(self.installed())), (status, times), repr(answer))

    def test_nothing_missing_asks_nothing(self):
        (self.folder / "dpkg-query").write_text("#!/bin/sh\necho installed\n")
        done = self.need("ask")
        self.assertEqual((done.returncode, done.stdout), (0, "went on\n"))
        self.assertEqual(self.calls.read_text(), "")

    def test_running_needs_neither_tests_nor_CUDA(self):
        done = self.run_script("-c", '. scripts/lib.sh; printf "%s\\n" "${packages_to_run[@]}"')
        self.assertIn("libhdf5-dev", done.stdout.split())
        self.assertFalse([name for name in done.stdout.split() if re.search("cuda|nvidia|boost-test|clang", name)])

    def test_every_package_that_meson_names_is_installed_by_the_scripts(self):
        named = set(re.findall(r"'\w+': '([a-z0-9+-]+-dev)'", (ROOT / "meson.build").read_text()))
        done = self.run_script("-c", '. scripts/lib.sh; printf "%s\\n" "${packages_to_run[@]}"')
        self.assertTrue(named)
        self.assertEqual(named - set(done.stdout.split()), set())
