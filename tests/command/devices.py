"""`assay devices`, and `--device cuda` where no GPU can be used: the reason, and nothing left behind."""

import os

from command import CommandTest, run_assay

# Hides the GPUs that there are; a build without CUDA has none anyway.
NO_GPU = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}


def rows(**options):
    """Name -> (usable, detail)."""
    table = {}
    for line in run_assay("devices", **options).stdout.splitlines():
        name, _, rest = line.partition(" ")
        table[name] = (not rest.lstrip().startswith("not usable"), rest.split("usable", 1)[1].strip())
    return table


class Devices(CommandTest):
    def test_every_device_is_listed_with_what_it_is_or_why_it_cannot_be_used(self):
        found = rows()
        self.assertEqual(list(found), ["cpu", "reference", "simulated", "cuda"])
        self.assertTrue(all(detail for _, detail in found.values()), found)
        usable, detail = found["cuda"]
        if usable:
            self.assertRegex(detail, r"^.+, [\d.]+ GiB, compute capability \d+\.\d+, driver .+, runtime \d+\.\d+$")

    def test_a_run_takes_a_thread_per_core_unless_it_is_told(self):
        usual = {name: value for name, value in os.environ.items() if name != "ASSAY_THREADS"}
        cores = len(os.sched_getaffinity(0))
        for place, options, threads in (
            (usual, [], cores),
            ({**usual, "ASSAY_THREADS": "3"}, [], 3),
            (usual, ["--threads", 5], 5),
        ):
            out = self.folder / f"{len(options)} of {len(place)}"
            done = run_assay("run", self.experiment, *options, "--out", out, env=place)
            self.assertRegex(done.stderr, rf"on cpu \({threads} threads?\)")

    def test_XFER_8_cuda_without_a_GPU_is_refused_with_the_reason_and_the_way_around_it(self):
        usable, reason = rows(env=NO_GPU)["cuda"]
        self.assertFalse(usable)
        for command in (["run", self.experiment], ["selftest"], ["gradcheck"]):
            with self.subTest(command=command[0]):
                done = run_assay(*command, "--device", "cuda", env=NO_GPU, cwd=self.folder)
                self.assert_refused(done, "XFER-8", f"cuda: {reason}", "simulated")
                self.assertEqual(list(self.folder.iterdir()), [self.experiment])

    def test_XFER_8_a_run_that_is_to_go_on_with_cuda_without_a_GPU_stays_as_it_is(self):
        before = self.bytes_of(self.trained("--set", "train.steps=4"))
        done = run_assay("run", self.out, "--resume", "--device", "cuda", env=NO_GPU)
        self.assert_refused(done, "XFER-8", "cuda")
        self.assertEqual(self.bytes_of(self.out), before)
