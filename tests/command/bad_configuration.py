"""`assay run` with a wrong configuration: exit status 2, file, line and key named, nothing written."""

from command import EXPERIMENT, CommandTest, run_assay


class BadConfiguration(CommandTest):
    def refused(self, text, *words):
        self.experiment.write_text(text)
        self.assert_refused(self.train(), *words)
        self.assert_nothing_written()

    def line_of(self, text, part):
        return 1 + text[: text.index(part)].count("\n")

    def test_the_good_configuration_is_accepted(self):
        self.trained()

    def test_RUN_1_a_misspelt_key_names_file_line_and_the_nearest_key(self):
        text = EXPERIMENT.replace("batch = 16", "bacth = 16")
        self.refused(text, f"small.toml:{self.line_of(text, 'bacth')}", "bacth", "train.batch")

    def test_RUN_1_a_misspelt_section_names_the_nearest(self):
        self.refused(EXPERIMENT.replace("[checkpoint]", "[chekpoint]"), "chekpoint", "checkpoint")

    def test_RUN_1_a_misspelt_override_names_the_nearest_key(self):
        self.assert_refused(self.train("--set", "train.stesp=3"), "train.stesp", "train.steps")
        self.assert_nothing_written()

    def test_RUN_1_a_negative_size_is_refused_with_its_key(self):
        for old, new, key in (
            ("batch = 16", "batch = -16", "train.batch"),
            ("layers = [16, 8, 4]", "layers = [16, -8, 4]", "model.layers"),
            ("samples = 128", "samples = -1", "data.synthetic.samples"),
            ("steps = 6", "steps = -6", "train.steps"),
            ("every = 2", "every = -2", "checkpoint.every"),
        ):
            with self.subTest(key=key):
                self.refused(EXPERIMENT.replace(old, new), key, "-")

    def test_RUN_1_a_value_of_another_type_is_refused_with_its_key(self):
        self.refused(EXPERIMENT.replace("batch = 16", 'batch = "many"'), "train.batch", "integer")

    def test_RUN_1_a_syntax_error_names_file_and_line(self):
        text = EXPERIMENT.replace("batch = 16", "batch = = 16")
        self.refused(text, f"small.toml:{self.line_of(text, 'batch')}")

    def test_RUN_1_layers_that_do_not_fit_the_data_are_refused(self):
        self.refused(EXPERIMENT.replace("[16, 8, 4]", "[17, 8, 4]"), "model.layers", "16", "17")
        self.refused(EXPERIMENT.replace("[16, 8, 4]", "[16, 8, 5]"), "model.layers", "4", "5")

    def test_RUN_1_an_experiment_that_does_not_exist_is_refused_by_name(self):
        done = run_assay("run", self.folder / "nowhere.toml", "--out", self.out)
        self.assert_refused(done, "nowhere.toml")
        self.assert_nothing_written()

    def test_an_unknown_option_and_a_missing_argument_exit_with_2(self):
        for arguments in (["run"], ["run", self.experiment, "--thread", "1"], ["compare", self.out], ["fly"], []):
            done = run_assay(*arguments)
            self.assertEqual(done.returncode, 2, f"{arguments}: {done.stderr}")
            self.assertTrue(done.stderr.strip() or done.stdout.strip(), arguments)

    def test_every_command_has_help_with_an_example(self):
        for command in ("run", "compare", "report", "inspect", "devices", "selftest"):
            done = run_assay(command, "--help")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"assay {command}", done.stdout)
            self.assertIn("xample", done.stdout)
