"""`assay selftest`: one digest on every device and number of threads, and devices whose bits are not promised."""

from command import CommandTest, run_assay


class Selftest(CommandTest):
    def test_NUM_14_devices_and_threads_print_one_digest(self):
        places = ([], ["--device", "cpu"], ["--device", "simulated"], ["--device", "simulated", "--threads", "3"])
        printed = {run_assay("selftest", *place).stdout for place in places}
        self.assertEqual(len(printed), 1, printed)
        self.assertRegex(printed.pop(), r"^[0-9a-f]{64}\n$")

    def test_NUM_14_the_parts_are_those_of_every_device(self):
        here, there = (run_assay("selftest", "--parts", "--device", device) for device in ("cpu", "simulated"))
        self.assertEqual(here.stdout, there.stdout)
        self.assertIn("training with AdamW", here.stdout)

    def test_a_device_whose_bits_are_not_promised_is_refused(self):
        self.assert_refused(run_assay("selftest", "--device", "reference"), "XFER-8", "simulated or cuda", "reference")
        self.assert_refused(run_assay("selftest", "--device", "abacus"), "XFER-8", "abacus")
