"""Runs one file of unittest cases and writes their results as JUnit XML: run.py FILE.py RESULT.xml [argument]…"""

import importlib.util
import sys
import time
import unittest
import xml.etree.ElementTree as xml
from pathlib import Path


class Result(unittest.TextTestResult):
    """Keeps what the JUnit file needs: name, seconds and outcome of each case."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.rows, self.began = {}, 0.0

    def startTest(self, test):
        super().startTest(test)
        self.began = time.monotonic()
        self.rows[test.id()] = (0.0, None, "")

    def stopTest(self, test):
        super().stopTest(test)
        _, tag, text = self.rows[test.id()]
        self.rows[test.id()] = (time.monotonic() - self.began, tag, text)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.rows[test.id()] = (0.0, "skipped", reason)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.rows[test.id()] = (0.0, "failure", self.failures[-1][1])

    def addError(self, test, error):
        super().addError(test, error)
        self.rows[test.id()] = (0.0, "error", self.errors[-1][1])

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            text = (self.failures + self.errors)[-1][1]
            self.rows[test.id()] = (0.0, "failure", f"{self.rows[test.id()][2]}\n{subtest}: {text}")

    def write(self, path):
        suite = xml.Element("testsuite", tests=str(len(self.rows)))
        for name, (seconds, tag, text) in self.rows.items():
            classname, _, case_name = name.rpartition(".")
            case = xml.SubElement(suite, "testcase", classname=classname, name=case_name, time=f"{seconds:.3f}")
            if tag == "skipped":
                xml.SubElement(case, tag, message=text)
            elif tag:
                xml.SubElement(case, tag).text = text
        xml.ElementTree(suite).write(path, encoding="unicode")


def main():
    file, result_file = Path(sys.argv[1]).resolve(), sys.argv[2]
    sys.path.insert(0, str(file.parent))
    specification = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(specification)
    sys.modules[file.stem] = module
    specification.loader.exec_module(module)
    runner = unittest.TextTestRunner(verbosity=2, resultclass=Result)
    program = unittest.main(module, argv=[file.name, *sys.argv[3:]], testRunner=runner, exit=False)
    program.result.write(result_file)
    if not program.result.rows:
        sys.exit("no test was run")
    sys.exit(0 if program.result.wasSuccessful() else 1)


if __name__ == "__main__":
    main()
