"""`assay compare --null` and `model.perturbed`: null runs are taken or refused, the verdict and its figures are told."""

import json

from command import CommandTest, run_assay

KEPT = ("--set", "checkpoint.every=2", "--set", "checkpoint.keep=100", "--set", "train.steps=12")


class NullRuns(CommandTest):
    def setUp(self):
        super().setUp()
        self.exact = self.run_of("exact")
        self.fast = self.run_of("fast", "--numerics", "fast", "--set", "model.activation=relu")

    def run_of(self, name, *more):
        return self.trained(*KEPT, *more, out=self.folder / name)

    def growth(self, *nulls):
        arguments = [word for null in nulls for word in ("--null", null)]
        done = run_assay("compare", self.exact, self.fast, *arguments, "--json")
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return json.loads(done.stdout)

    def test_CMP_5_fast_against_exact_is_rounding_beside_a_one_ulp_run(self):
        one_ulp = self.run_of("one_ulp", "--set", "model.perturbed=all")
        row = self.growth(one_ulp)
        growth = row["growth"]
        self.assertEqual(growth["steps"], [2, 4, 6, 8, 10, 12])
        self.assertEqual(growth["verdict"], "rounding", growth["reason"])
        self.assertEqual([null["kind"] for null in growth["nulls"]], ["one ULP"])
        self.assertTrue(all(value > 0 for value in growth["nulls"][0]["all"]["relative"]))
        self.assertGreater(row["seconds_per_step"]["a"], 0)
        done = run_assay("compare", self.exact, self.fast, "--null", one_ulp)
        self.assertRegex(done.stdout, r"growth is +ROUNDING  at every step at most 10 x")

    def test_CMP_5_without_nulls_there_is_no_verdict(self):
        growth = self.growth()["growth"]
        self.assertIsNone(growth["verdict"])
        self.assertEqual(growth["reason"], "no null band: give --null")

    def test_CMP_4_other_seeds_are_null_runs_and_give_bands(self):
        seeds = [self.run_of(f"seed_{seed}", "--set", f"experiment.seed={seed}") for seed in (6, 7)]
        growth = self.growth(*seeds)["growth"]
        self.assertEqual({null["kind"] for null in growth["nulls"]}, {"other seed"})
        self.assertIn("test_loss", [band["metric"] for band in growth["bands"]])
        self.assertEqual(growth["verdict"], "within seed noise", growth["reason"])

    def test_CMP_4_a_null_run_that_differs_in_anything_else_is_refused(self):
        other = self.run_of("other", "--set", "optimiser.learning_rate=0.5")
        refused = run_assay("compare", self.exact, self.fast, "--null", other)
        differs = "optimiser.learning_rate is 0.001 there, 0.5 here"
        self.assert_refused(refused, "CMP-4", f"null run {other}", "model.perturbed alone", differs)
        refused = run_assay("compare", self.exact, self.fast, "--null", self.exact)
        self.assert_refused(refused, "CMP-4", "the same experiment")
        self.assertEqual(run_assay("compare", self.exact, self.folder / "other").returncode, 1)

    def test_CMP_4_a_perturbed_run_is_another_experiment(self):
        moved = self.run_of("moved", "--set", "model.perturbed=fc1.weight")
        done = run_assay("compare", self.exact, moved)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"REFUSED  CMP-4[^$]*model.perturbed")

    def test_RUN_1_an_unknown_parameter_is_refused_before_anything_is_written(self):
        out = self.folder / "wrong"
        refused = self.train("--set", "model.perturbed=fc1.wieght", out=out)
        self.assert_refused(refused, "RUN-1", "model.perturbed", "the nearest is fc1.weight", "fc1.wieght")
        self.assert_nothing_written(out)

    def test_the_report_has_growth_price_and_null_runs(self):
        one_ulp = self.run_of("one_ulp", "--set", "model.perturbed=all")
        done = run_assay("report", self.exact, self.fast, "--null", one_ulp, "--out", self.folder / "report")
        self.assertEqual(done.returncode, 0, done.stderr)
        page = (self.folder / "report/index.html").read_text()
        for word in ("Rounding: at every step", "figure-growth-B", "figure-layers-B", "times as long", "--null"):
            self.assertIn(word, page)
        self.assertTrue((self.folder / "report/figures/growth-B.svg").exists())
