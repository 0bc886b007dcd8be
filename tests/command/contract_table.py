"""`assay contracts` beside a made-up test program: what it runs, what it prints, and what a program that dies means."""

import json
import os
import shutil
import stat
import subprocess
import xml.etree.ElementTree as xml

from command import ASSAY, CommandTest

# Knows the options of the real one. A case whose name has "crashes" in it ends the program; one with "fails" fails; one
# with "notices" fails under any saboteur; one with "dies" crashes under any.
PROGRAM = """#!/usr/bin/python3
import os, sys
CASES = {cases!r}
if "--list_content=HRF" in sys.argv:
    for suite, names in CASES.items():
        print(suite + "*" + "".join("\\n    " + name + "*" for name in names), file=sys.stderr)
    sys.exit(0)
wanted = [word.split("=", 1)[1] for word in sys.argv if word.startswith("--run_test=")]
record = open(sys.argv[sys.argv.index("--verdicts") + 1], "w")
sabotaged = os.environ.get("ASSAY_SABOTEUR")
print("log of", wanted)
for path in [suite + "/" + name for suite, names in CASES.items() for name in names]:
    if path not in wanted:
        continue
    print("start", path, file=record, flush=True)
    if "crashes" in path or ("dies" in path and sabotaged):
        os.abort()
    fails = "fails" in path or ("notices" in path and sabotaged)
    print("fail" if fails else "pass", path, "0.25", file=record, flush=True)
"""
CASES = {
    "cpu": ["GRAPH_2_contributions_add", "GRAPH_12_views_have_the_bits", "XFER_5_a_round_trip"],
    "simulated": ["GRAPH_2_contributions_add", "XFER_5_a_round_trip"],
    "profiles": ["RUN_1_a_name", "without_an_id"],
}


class Contracts(CommandTest):
    def setUp(self):
        super().setUp()
        self.assay = self.folder / "assay"
        shutil.copy(ASSAY, self.assay)

    def program(self, cases, name="assay_contracts"):
        path = self.folder / name
        path.write_text(PROGRAM.format(cases=cases))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def contracts(self, *arguments):
        command = [self.assay, "contracts", *map(str, arguments)]
        environment = {name: value for name, value in os.environ.items() if name != "ASSAY_SABOTEUR"}
        return subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)

    def rows(self, *arguments):
        done = self.contracts(*arguments, "--json")
        return done, [(row["id"], row["device"], row["verdict"]) for row in json.loads(done.stdout)["contracts"]]

    def test_without_a_test_program_it_says_what_to_build(self):
        for option, name in ((), "assay_contracts"), (("--sabotage",), "assay_contracts_sabotage"):
            self.assert_refused(self.contracts(*option), name, "-Dtests=true")

    def test_a_row_an_id_and_a_device(self):
        self.program(CASES)
        done, rows = self.rows()
        self.assertEqual(done.returncode, 0, done.stderr)
        expected = [("GRAPH-2", "cpu"), ("GRAPH-2", "simulated"), ("GRAPH-12", "cpu"), ("RUN-1", "any")]
        expected += [("XFER-5", "cpu"), ("XFER-5", "simulated")]
        self.assertEqual(rows, [(*place, "pass") for place in expected])

    def test_groups_rows_and_a_device_choose(self):
        self.program(CASES)
        self.assertEqual(self.rows("GRAPH", "--device", "cpu")[1], [("GRAPH-2", "cpu", "pass"), ("GRAPH-12", "cpu", "pass")])
        self.assertEqual(self.rows("GRAPH-12", "RUN")[1], [("GRAPH-12", "cpu", "pass"), ("RUN-1", "any", "pass")])
        self.assert_refused(self.contracts("GRAPH-1"), "GRAPH-1")
        self.assert_refused(self.contracts("--device", "cuda"), "cuda")

    def test_the_list_has_ids_devices_and_promises(self):
        self.program(CASES)
        lines = self.contracts("--list").stdout.splitlines()
        self.assertEqual([line.split()[:2] for line in lines][0], ["GRAPH-2", "cpu,simulated"])
        self.assertIn("contributions add", lines[0])

    def test_a_row_fails_with_one_of_its_cases_which_is_named(self):
        self.program({"cpu": ["GRAPH_2_holds", "GRAPH_2_fails", "GRAPH_3_holds"]})
        done, rows = self.rows()
        self.assertEqual(done.returncode, 1)
        self.assertEqual(rows, [("GRAPH-2", "cpu", "fail"), ("GRAPH-3", "cpu", "pass")])
        self.assertIn("--run_test=cpu/GRAPH_2_fails", self.contracts().stdout)

    def test_a_program_that_dies_fails_its_case_and_the_others_are_run(self):
        self.program({"cpu": ["GRAPH_1_holds", "GRAPH_2_crashes", "GRAPH_3_holds", "GRAPH_4_crashes", "GRAPH_5_holds"]})
        done, rows = self.rows()
        self.assertEqual(done.returncode, 1)
        self.assertEqual([verdict for _, _, verdict in rows], ["pass", "fail", "pass", "fail", "pass"])

    def test_JUnit_has_a_case_for_every_case(self):
        self.program({"cpu": ["GRAPH_1_holds", "GRAPH_2_crashes", "GRAPH_3_fails"]})
        path = self.folder / "junit.xml"
        self.assertEqual(self.contracts("--junit", path).returncode, 1)
        cases = list(xml.parse(path).getroot().iter("testcase"))
        self.assertEqual([case.get("name") for case in cases], ["GRAPH_1_holds", "GRAPH_2_crashes", "GRAPH_3_fails"])
        self.assertEqual([case.find("failure") is not None for case in cases], [False, True, True])

    def test_a_saboteur_that_is_noticed_by_a_failure_or_a_crash_proves_its_ids(self):
        self.program({"cpu": ["GRAPH_2_notices", "GRAPH_10_dies"]}, "assay_contracts_sabotage")
        done = self.contracts("--sabotage", "--json")
        result = json.loads(done.stdout)
        self.assertEqual((done.returncode, result["unproven"], result["fail_anyway"]), (0, [], []), done.stderr)
        self.assertIn({"GRAPH-2", "GRAPH-10"}, [set(row["red"]) for row in result["saboteurs"]])

    def test_a_saboteur_that_nothing_notices_leaves_its_id_unproven(self):
        self.program({"cpu": ["GRAPH_2_holds", "GRAPH_4_notices"]}, "assay_contracts_sabotage")
        done = self.contracts("--sabotage", "--json")
        self.assertEqual((done.returncode, json.loads(done.stdout)["unproven"]), (1, ["GRAPH-2"]))

    def test_a_case_that_fails_anyway_proves_nothing(self):
        self.program({"cpu": ["GRAPH_2_fails", "GRAPH_4_notices"]}, "assay_contracts_sabotage")
        done = self.contracts("--sabotage", "--json")
        result = json.loads(done.stdout)
        self.assertEqual((done.returncode, result["unproven"], result["fail_anyway"]), (1, ["GRAPH-2"], ["GRAPH-2"]))
