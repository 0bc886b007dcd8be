"""`assay gradcheck`: a line for each check, those that were named only, and names and devices that do not exist."""

import re

from command import CommandTest, run_assay


class Gradcheck(CommandTest):
    def test_CHECK_1_every_check_has_a_line_and_holds_on_every_device(self):
        for device in ("cpu", "simulated", "reference"):
            done = run_assay("gradcheck", "--device", device)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            head, *lines = done.stdout.splitlines()
            self.assertRegex(head, r"^name +worst error +loss moves +verdict$")
            self.assertGreater(len(lines), 20)
            for line in lines:
                self.assertRegex(line, r"^\w+ +\d\.\d\de-\d\d +\d\.\d\de-\d\d +holds$")

    def test_CHECK_1_named_checks_run_alone(self):
        done = run_assay("gradcheck", "softmax", "Linear")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([re.split(" +", line)[0] for line in done.stdout.splitlines()[1:]], ["softmax", "Linear"])

    def test_a_name_or_device_that_does_not_exist_is_refused(self):
        self.assert_refused(run_assay("gradcheck", "sofmax"), "CHECK-1", "softmax, log_softmax", '"sofmax"')
        self.assert_refused(run_assay("gradcheck", "--device", "abacus"), "XFER-8", "abacus")

    def test_the_help_has_an_example(self):
        done = run_assay("gradcheck", "--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn("Example: assay gradcheck", done.stdout)
