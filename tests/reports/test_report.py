# Tests of the report: structure, same bytes, refusals that leave nothing behind, nothing from outside the page.

import contextlib
import io
import json
import re
import shutil
import sys
import tempfile
import unittest
import unittest.mock
from html.parser import HTMLParser
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent / "reports")]

import h5py

import figures_operation
import make_run
import report
import style
import verdict
from read_run import read_run

VOID = {"meta", "br", "link", "img", "hr", "input"}


class Page(HTMLParser):
    """Checks that tags close, and collects the text, the attributes and the ids."""

    def __init__(self, text):
        super().__init__()
        self.stack, self.words, self.attributes, self.unbalanced, self.svgs = [], [], [], [], 0
        self.feed(text.replace("<wbr>", ""))
        self.text = re.sub(r"\s+", " ", " ".join(self.words))

    def handle_starttag(self, tag, attrs):
        self.attributes += attrs
        self.svgs += tag == "svg"
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.attributes += attrs

    def handle_endtag(self, tag):
        if not self.stack or self.stack.pop() != tag:
            self.unbalanced.append(tag)

    def handle_data(self, data):
        if "style" not in self.stack:
            self.words.append(data)


def call(out, comparisons, runs):
    """(exit code, standard error) of the program."""
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
        code = report.main(["--out", str(out), "--comparisons", str(comparisons), *map(str, runs)])
    return code, errors.getvalue()


def tree(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(Path(folder).rglob("*")) if p.is_file()}


class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = Path(tempfile.mkdtemp(prefix="assay-report-"))
        cls.addClassCleanup(shutil.rmtree, cls.root)
        cls.sets = make_run.write_examples(cls.root / "runs")
        cls.pages = {}
        for kind, runs in cls.sets.items():
            code, errors = call(cls.root / kind, cls.root / "runs" / kind / "comparisons.json", runs)
            assert code == 0, errors
            cls.pages[kind] = (cls.root / kind / "index.html").read_text(encoding="utf-8")

    def setUp(self):
        self.work = Path(tempfile.mkdtemp(dir=self.root))

    def copy(self, kind="equal", index=0):
        target = self.work / f"run{len(list(self.work.iterdir()))}"
        shutil.copytree(self.sets[kind][index], target)
        return target

    def refused(self, runs, *words, comparisons=None):
        """The call exits with 2, names `words`, and leaves the output folder as it was."""
        out = self.work / "out"
        out.mkdir(exist_ok=True)
        (out / "index.html").write_text("before")
        rows = comparisons if comparisons is not None else \
            [make_run.comparison(runs[0], run, 1) for run in runs[1:]]
        file = self.work / "comparisons.json"
        file.write_text(rows if isinstance(rows, str) else json.dumps(rows))
        code, errors = call(out, file, runs)
        self.assertEqual(code, 2, errors)
        for word in (*words, "expected", "found"):
            self.assertIn(word, errors)
        self.assertEqual(tree(out), {"index.html": b"before"})

    def test_the_sentence_on_top_states_the_verdict(self):
        expected = {"equal": "All 3 runs have the same bits in all 938 steps.",
                    "parted": "A and B part at step 412, gradient of fc1.weight.",
                    "grown": "A and B part at step 2, gradient of fc1.weight.",
                    "explained": "A and B part at step 118, in the backward pass, at the operation linear of fc2 "
                    "(gradient by operand 1); B is wrong: it promises numerics exact, and has other bits than exact "
                    "gives here.",
                    "interrupted": "A and B have the same bits in the 400 steps they share.",
                    "single": "A and B have the same bits in their one step.",
                    "nan": "A and B part at step 118, gradient of fc1.weight.",
                    "alone": "One run of 938 steps, compared with no other."}
        for kind, sentence in expected.items():
            self.assertIn(sentence, Page(self.pages[kind]).text, kind)

    def test_sentences_of_many_runs_and_other_policies(self):
        runs = [read_run(self.sets["equal"][0], label) for label in "ABCDE"]
        rows = [make_run.comparison("a", "b", 938, policy="ulp:4") for _ in runs[1:]]
        self.assertEqual(verdict.sentence(runs, rows), "All 5 runs agree within ulp:4 in all 938 steps")
        for row, step in zip(rows, (30, 20, 40)):
            row.update(holds=False, first_divergence={"step": step, "table": "optimiser", "tensor": "m.{x}"})
        self.assertEqual(verdict.sentence(runs, rows), "3 of 4 runs differ from A; first, A and C part at step 20, "
                         "optimiser state m.{x}")
        rows = [make_run.comparison("a", "b", 0, holds=False, refused="other seeds: 7 and 8")]
        self.assertEqual(verdict.sentence(runs[:2], rows), "B was not compared with A: other seeds: 7 and 8")
        self.assertEqual(verdict.kind(rows), "refused")

    def test_pages_are_well_formed_and_have_all_sections(self):
        for kind, text in self.pages.items():
            page = Page(text)
            self.assertEqual((page.unbalanced, page.stack), ([], []), kind)
            ids = [value for key, value in page.attributes if key == "id"]
            self.assertEqual(len(ids), len(set(ids)), f"{kind}: an id is used twice")
            for name in ("training", "configuration", "provenance", "reproduce", "speed", "figure-loss",
                         "figure-accuracy", "figure-pace", "figure-speed"):
                self.assertIn(name, ids, kind)
            self.assertEqual("parting" in ids, kind in ("parted", "nan", "grown", "explained"), kind)
            self.assertEqual("operation" in ids, kind == "explained", kind)
            self.assertEqual("growth" in ids, kind == "grown", kind)
            used = re.findall(r'(?:href="#|url\(#)([^")]+)', text)
            self.assertEqual(set(used) - set(ids), set(), f"{kind}: a reference leads nowhere")
            self.assertEqual(page.svgs, 2 * len([i for i in text.split("<figure ")[1:]]), kind)

    def test_a_page_needs_nothing_from_outside(self):
        for kind, text in self.pages.items():
            self.assertNotIn("http", text, kind)
            self.assertNotIn("//", re.sub(r"<pre.*?</pre>", "", text, flags=re.S), kind)
            self.assertIsNone(re.search(r"<script|<link|<img|@import|url\((?!#)", text), kind)
            for key, value in Page(text).attributes:
                if key in ("href", "src"):
                    self.assertRegex(value, r"^(#|report\.json$|figures/)", kind)
                    if not value.startswith("#"):
                        self.assertTrue((self.root / kind / value).is_file(), value)

    def test_inline_figures_have_no_colour_of_their_own(self):
        for kind, text in self.pages.items():
            for drawing in re.findall(r"<svg.*?</svg>", text, re.S):
                self.assertEqual(re.findall(r"#[0-9a-f]{6}\b", drawing), [], kind)

    def test_the_same_input_gives_the_same_bytes(self):
        for kind in ("equal", "parted"):
            again = self.work / kind
            call(again, self.root / "runs" / kind / "comparisons.json", self.sets[kind])
            first, second = tree(self.root / kind), tree(again)
            self.assertEqual(list(first), list(second))
            for name in first:
                self.assertEqual(first[name], second[name], name)

    def test_json_is_strict_and_holds_the_verdict_and_the_numbers(self):
        refuse = lambda word: self.fail(f"{word} is not JSON")
        for kind, runs in self.sets.items():
            found = json.loads((self.root / kind / "report.json").read_text(), parse_constant=refuse)
            self.assertEqual(list(found), ["format", "format_version", "verdict", "runs", "comparisons", "figures"])
            self.assertEqual([run["path"] for run in found["runs"]], runs)
            self.assertEqual(len(found["comparisons"]), len(runs) - 1)
        nan = json.loads((self.root / "nan" / "report.json").read_text())
        self.assertEqual(nan["runs"][1]["first_not_finite_step"], 120)
        self.assertIsNone(nan["runs"][1]["result"]["test_loss"])
        self.assertEqual(nan["verdict"]["state"], "differs")

    def test_figures_are_svg_and_png_without_a_date(self):
        files = tree(self.root / "parted" / "figures")
        self.assertEqual(sorted(files), sorted(f"{name}.{kind}" for kind in ("svg", "png") for name in
                                               ("accuracy", "digests-B", "drift", "loss", "pace", "speed")))
        for name, data in files.items():
            self.assertTrue(data.startswith(b"<?xml" if name.endswith("svg") else b"\x89PNG"), name)
            self.assertNotIn(b"dc:date", data)
            self.assertNotIn(b"Software", data)

    def test_growth_is_drawn_beside_its_null_runs_and_its_verdict_is_told(self):
        page = Page(self.pages["grown"])
        ids = [value for key, value in page.attributes if key == "id"]
        self.assertEqual([i for i in ids if i.endswith("-B")], ["figure-digests-B", "figure-growth-B", "figure-layers-B"])
        for words in ("A B Rounding: at every step at most 10 x", "other seeds: test loss 0.37 0.35 to 0.4 inside; 3 seeds",
                      "fc2.bias doubles in 52 steps", "other seeds", "step 80, the nearest to it of 46",
                      "2.1 ms a step 1.4 ms a step A takes 1.5 times as long", "Grey: the null runs."):
            self.assertIn(words, page.text)
        commands = self.pages["grown"].split('id="reproduce"')[1]
        self.assertEqual(commands.count("--null"), 8)

    def test_growth_without_null_runs_or_with_many_parameters_has_figures_too(self):
        runs, names = self.sets["grown"], [f"blocks.{i}.{part}.weight" for i in range(12) for part in "qkv"]
        steps = [10, 20, 30, 40]
        for growth, verdict_words in ((make_run.growth(steps), "No verdict: no null band: give --null."),
                                      (make_run.growth(steps, parameters=names), "blocks (furthest of 36)")):
            file = self.work / "rows.json"
            file.write_text(json.dumps([{**make_run.parted(*runs, 938, 2), "growth": growth}]))
            self.assertEqual(call(self.work / "out", file, runs), (0, ""))
            self.assertIn(verdict_words, Page((self.work / "out" / "index.html").read_text()).text)
        growth = make_run.growth(steps)
        for row in (growth["all"], *growth["parameters"]):
            row["relative"] = [0.0] * 4
        file.write_text(json.dumps([{**make_run.parted(*runs, 938, 2), "growth": growth}]))
        self.assertEqual(call(self.work / "out", file, runs), (0, ""))
        self.assertNotIn('id="growth"', (self.work / "out" / "index.html").read_text())

    def test_a_null_run_that_cannot_be_read_is_refused_by_name(self):
        runs = self.sets["grown"]
        row = {**make_run.parted(*runs, 938, 2), "growth": make_run.growth([10, 20, 30, 40], [self.work / "nowhere"])}
        self.refused(runs, "FILE-3", str(self.work / "nowhere"), comparisons=[row])

    def words(self, runs, *rows):
        """The text of their page, whose figures are not drawn."""
        with unittest.mock.patch.object(style, "draw", return_value=("", {})):
            return Page(self.rendered(runs, *rows)).text

    def rendered(self, runs, *rows):
        """The page of these runs and comparisons."""
        file = self.work / "rows.json"
        file.write_text(json.dumps(rows))
        self.assertEqual(call(self.work / "out", file, runs), (0, ""))
        return (self.work / "out" / "index.html").read_text()

    def test_the_sentence_names_the_wrong_side_or_that_there_is_none(self):
        a, b, c = (read_run(folder, label) for folder, label in zip(self.sets["equal"], "ABC"))
        hidden = {"recorded": True, "exact": False, "values": None, "cause": None}
        for changes, words in (({"wrong": "A"}, "; A is wrong: because"),
                               ({"wrong": "B"}, "; C is wrong: because"),
                               ({"wrong": "both"}, "; both are wrong: because"),
                               ({"wrong": "neither"}, "; neither is wrong: because"),
                               ({"wrong": "unknown"}, "; which is wrong is unknown: because"),
                               ({"wrong": "unknown", "b": hidden},
                                "; which is wrong is unknown: this build does not compute the bits of C")):
            row = make_run.traced("a", "c", 9, 3, explained=make_run.explanation(**{"reason": "because", **changes}))
            found = verdict.part(a, c, row)
            self.assertTrue(found.endswith("(gradient by operand 1)" + words), found)
        for none in (None, {"unavailable": "no data"}):
            row["explanation"] = none
            self.assertTrue(verdict.part(a, c, row).endswith("(gradient by operand 1)"), none)
        rows = [make_run.traced("a", "b", 9, 3, explained=make_run.explanation(wrong=w)) for w in ("B", "neither")]
        self.assertEqual(verdict.sentence([a, b, c], rows).count("(gradient by operand 1)"), 2)
        self.assertIn("(B is wrong); A and C part", verdict.sentence([a, b, c], rows))
        self.assertTrue(verdict.sentence([a, b, c], rows).endswith("(neither is wrong)"))
        row.update(policy="ulp:4", explanation=make_run.explanation())
        self.assertNotIn("wrong", verdict.part(a, c, row))  # of the first difference in bits, which may be another

    def test_a_result_is_told_in_words(self):
        for name, words in (
                ("forward//cross_entropy", "in the forward pass, at the operation cross_entropy"),
                ("forward/blocks.0.mlp/linear#2", "in the forward pass, at the operation linear of blocks.0.mlp, call 2"),
                ("shard.1/backward/fc1/linear:2",
                 "in the backward pass of shard 1, at the operation linear of fc1 (gradient by operand 2)"),
                ("gradients/fc1.bias/sum_of_shards", "at the gradient of fc1.bias, summed over the shards"),
                ("shard.3/gradients/fc1.bias/shard", "at the gradient of fc1.bias of shard 3"),
                ("gradients/fc1.bias/shard", "at the gradient of fc1.bias of shard 0"),
                ("parameters/fc1.bias/table", "parameter fc1.bias after the update"),
                ("no name", "at no name")):
            self.assertEqual(verdict.place_of_result(name), words)

    def test_the_first_operation_is_told_with_its_distance_referee_cause_and_price(self):
        page = Page(self.pages["explained"])
        for words in ("backward/fc2/linear:1, 10 × 128", "the checkpoint of step 100",
                      "Bits A those of numerics exact B others than numerics exact",
                      "Cause A – B the sum runs from the last term to the first",
                      "First element [0, 3] A 0.120492756 B 0.120492779",
                      "first element 3 ULP, worst 2,048–4,095 ULP; 280 of 1,280 elements differ",
                      "ULPs from float64 A 0.4 B 2,047", "Share of the bound A 1.1 % B 12.5 times",
                      "B outside of the bound; the bound is (n + 1) u times", "Price: median step A 2.1 ms B 1.4 ms",
                      "assay compare " + " ".join(self.sets["explained"]) + " --referee"):
            self.assertIn(words, page.text)
        ids = [value for key, value in page.attributes if key == "id"]
        self.assertEqual([i for i in ids if i in ("figure-results-B", "figure-ulps-B")],
                         ["figure-results-B", "figure-ulps-B"])
        self.assertNotIn("--referee", self.pages["equal"])

    def test_what_the_replay_could_not_find_is_said(self):
        runs = self.sets["explained"]
        page = Page(self.rendered(runs, make_run.traced(*runs, 200, 118, explained={
            "unavailable": "FILE-3: data.path: expected <files>, found none"})))
        self.assertIn("No replay: FILE-3: data.path: expected <files>, found none.", page.text)
        self.assertNotIn("figure-ulps-B", [value for key, value in page.attributes if key == "id"])
        hidden = make_run.explanation(
            wrong="unknown", b={"recorded": True, "exact": False, "values": None, "cause": None}, element=None, histogram=[0] * 34,
            different=0, elements=0, referee={"verdict": "unknown", "bound": "n"})
        text = self.words(runs, make_run.traced(*runs, 200, 118, explained=hidden))
        for words in ("this build does not compute the bits of B; a run with --set "
                      "'trace.tensors=[\"backward/fc2/linear:1\"]' keeps them", "none of the hypotheses gives them",
                      "ULPs from float64 A 0.4 B –", "unknown, for want of values"):
            self.assertIn(words, text)
        foreign = make_run.make_run(self.work / "foreign", steps=9, provenance={"framework": "pytorch"})
        text = self.words([runs[0], foreign], make_run.traced(runs[0], foreign, 9, 3, explained=hidden))
        self.assertIn("bits of B; its run can keep them in tensors/", text)
        nan = make_run.explanation(element={"index": [], "a": None, "b": 0.5, "ulp": 2**64 - 1}, shape=[],
                                   histogram=[0] * 33 + [1], referee=None)
        text = self.words(runs, make_run.traced(*runs, 200, 118, explained=nan))
        self.assertIn("A not finite B 0.5", text)
        self.assertIn("first element a NaN on one side, worst a NaN on one side", text)
        self.assertIn("backward/fc2/linear:1, one number", text)
        self.assertNotIn("Share of the bound", text)

    def test_the_timeline_has_the_results_that_both_runs_recorded(self):
        a, b = (read_run(folder, label) for folder, label in zip(self.sets["explained"], "AB"))
        rows = figures_operation.differing_results(a, b)
        self.assertEqual([row[3] for row in rows], [*make_run.TRACE, *make_run.PARAMETERS])
        self.assertEqual(figures_operation.first_step_of(rows), (118, 5))
        self.assertEqual([(lane, len(members)) for lane, members in figures_operation.lanes_of(rows)],
                         [("Forward", 3), ("Backward", 5), ("Update", 4)])
        self.assertEqual([row[2] for row in rows[:4]], ["fc1/linear", "fc2/linear", "cross_entropy", "cross_entropy:0"])
        self.assertIn("the first that differs", self.pages["explained"])

    def test_the_timeline_of_many_results_is_a_mark_for_each(self):
        names = [f"{shard}{phase}/blocks.{i}.attention/{operation}" for shard in ("", "shard.1/")
                 for phase in ("forward", "backward") for i in range(25) for operation in ("linear", "matmul", "softmax")]
        runs = [make_run.make_run(self.work / str(part), steps=9, part_at=part, trace=names, trace_from=100)
                for part in (None, 4)]
        text = self.rendered(runs, make_run.traced(*runs, 9, 4, names[100]))
        found = Page(text).text
        for words in ("Results of A and B at step 4", "Forward all 75 equal", "Backward 50 of 75 differ",
                      "Backward, shard 1 75 of 75 differ", "blocks.8.attention/matmul"):
            self.assertIn(words, found)
        ring = text.count("stroke: var(--ink); stroke-width: 1.8")
        self.assertEqual(ring, 2)  # one in each width

    def test_a_run_with_other_names_has_a_page_of_what_both_recorded(self):
        ours = self.sets["explained"][0]
        for names, shown, left in ((["forward/0/Linear"], False, ""),
                                   (["forward/0/Linear", *make_run.TRACE[1:]], True, "2 results that one run alone")):
            folder = self.work / f"foreign{len(names)}"
            foreign = make_run.make_run(folder, steps=200, part_at=3, trace=names, parameters=["0.weight", "0.bias"],
                                        provenance={"framework": "pytorch"})
            page = Page(self.rendered([ours, foreign], make_run.traced(ours, foreign, 200, 3, "forward/fc2/linear")))
            ids = [value for key, value in page.attributes if key == "id"]
            self.assertEqual("figure-results-B" in ids, shown)
            self.assertIn(left, page.text)
            self.assertIn("at the operation linear of fc2; B is wrong", page.text)

    def test_ulps_are_counted_in_stretches_of_powers_of_two(self):
        histogram = [5, 1, 0, 2] + [0] * 30
        self.assertEqual(figures_operation.histogram_rows(histogram), [("equal", 5), ("1", 1), ("2–3", 0), ("4–7", 2)])
        self.assertEqual(figures_operation.worst_distance(histogram), "4–7 ULP")
        histogram[32], histogram[33] = 3, 4
        rows = figures_operation.histogram_rows(histogram)
        self.assertEqual(rows[:3] + rows[-2:], [("equal", 5), ("1–3", 1), ("4–15", 2), ("2³⁰ and more", 3), ("NaN", 4)])
        self.assertEqual(sum(count for _, count in rows), sum(histogram))
        histogram[33] = 0
        self.assertEqual(figures_operation.worst_distance(histogram), "2³¹ ULP and more")
        self.assertIsNone(figures_operation.worst_distance([5] + [0] * 33))

    def test_a_trace_that_does_not_fit_its_names_is_refused(self):
        run = self.copy("explained", 1)
        with h5py.File(run / "run.h5", "r+") as file:
            del file["names/trace"]
            file.create_dataset("names/trace", data=["forward/fc1/linear"], dtype=h5py.string_dtype())
        make_run.seal(run / "run.h5")
        self.refused([run], "FILE-3", str(run / "run.h5"), "1 columns in /steps/trace")

    def test_only_rows_that_differ_are_marked(self):
        section = self.pages["parted"].split('id="provenance"')[1].split("</section>")[0]
        marked = re.findall(r'<tr class="differs">\s*<th scope="row">(.+?)</th>', section.replace("<wbr>", ""))
        self.assertEqual(marked, ["isa", "compiler", "compiler_flags", "command_line"])
        text = Page(self.pages["parted"]).text
        self.assertIn("1 key of 12 differs.", text)
        for words in ("11 keys, the same in both, after defaults and overrides", "13 facts, the same in both",
                      "1 override of B , whose experiment file is that of A"):
            self.assertIn(words, text)

    def test_runs_travel_together_until_they_part_or_end(self):
        def spans(kind):
            runs = [read_run(folder, label) for folder, label in zip(self.sets[kind], "ABC")]
            return [(low, high, "".join(run.label for run in bunch)) for low, high, bunch in verdict.stretches(runs)]
        self.assertEqual(spans("equal"), [(1, 938, "ABC")])
        self.assertEqual(spans("parted"), [(1, 411, "AB"), (411, 938, "A"), (411, 938, "B")])
        self.assertEqual(spans("interrupted"), [(1, 400, "AB"), (400, 938, "A")])
        self.assertEqual(spans("single"), [(1, 1, "AB")])

    def test_unfinished_runs_and_losses_that_are_not_finite_are_remarked(self):
        self.assertIn("B was interrupted at step 400.", Page(self.pages["interrupted"]).text)
        self.assertIn("The loss of B is not finite from step 120.", Page(self.pages["nan"]).text)

    def test_a_page_says_which_run_was_on_a_real_GPU(self):
        none = self.work / "none.json"
        none.write_text("[]")
        for device, gpu, words in (("simulated", {}, "ran on no GPU"), ("cuda", {"gpu": "H200, 9 GiB"}, "GPU: H200, 9")):
            run = make_run.make_run(self.work / device, steps=9, provenance={"device": device, **gpu})
            self.assertEqual(call(self.work / f"{device}-page", none, [run]), (0, ""))
            self.assertIn(words, Page((self.work / f"{device}-page/index.html").read_text()).text)

    def test_a_run_stopped_before_its_first_segment_has_a_page(self):
        run = make_run.make_run(self.work / "stopped", steps=0, planned=938, status="running")
        file = self.work / "none.json"
        file.write_text("[]")
        self.assertEqual(call(self.work / "out", file, [run]), (0, ""))
        self.assertIn("running · 0 steps", Page((self.work / "out" / "index.html").read_text()).text)

    def test_a_moved_run_is_read_with_all_its_segments(self):
        self.assertTrue(verdict.same_bits(read_run(self.copy(), "B"), read_run(self.sets["equal"][0], "A")))

    def test_a_segment_of_another_run_is_refused_by_name(self):
        run = self.copy("parted", 0)
        shutil.copy(Path(self.sets["parted"][1]) / "steps-000002.h5", run)
        self.refused([run], "FILE-3", str(run / "steps-000002.h5"), "as run.h5 lists it")

    def test_long_names_and_markup_are_escaped_and_can_wrap(self):
        long = "decoder.blocks.11." + "very_long_module_name." * 8 + "weight"
        names = (long, "a<b>&\"c\"", *(f"layer{i}.weight" for i in range(30)))
        runs = [make_run.make_run(self.work / ("r" * 120 + str(i)), steps=60, part_at=p, parameters=names,
                                  overrides=["note=<script>"]) for i, p in enumerate((None, 20))]
        file = self.work / "rows.json"
        file.write_text(json.dumps([make_run.parted(*runs, 60, 20, tensor=long)]))
        self.assertEqual(call(self.work / "out", file, runs), (0, ""))
        text = (self.work / "out" / "index.html").read_text()
        self.assertNotIn("<script", text)
        self.assertIn(f"part at step 20, gradient of {long}.", Page(text).text)
        self.assertIn("overflow-wrap: anywhere", text)
        self.assertEqual(Page(text).unbalanced, [])
        self.assertIn("tensors that differ later or never", text)

    def test_a_folder_that_is_no_run_is_refused_by_name(self):
        (self.work / "empty").mkdir()
        self.refused([self.work / "empty"], "FILE-3", str(self.work / "empty"), "run.h5")
        self.refused([self.work / "nowhere"], "FILE-3", str(self.work / "nowhere"), "no folder")

    def test_a_missing_segment_is_refused_by_name(self):
        run = self.copy()
        (run / "steps-000002.h5").unlink()
        self.refused([run], "FILE-3", str(run / "steps-000002.h5"))

    def test_a_newer_format_is_refused_with_both_versions(self):
        run = Path(make_run.make_run(self.work / "newer", steps=3, format_version=2))
        self.refused([run], "FILE-3", str(run / "run.h5"), "format_version 1", "format_version 2")
        run = self.copy()
        data = bytearray((run / "run.h5").read_bytes())
        data[8] = 7
        (run / "run.h5").write_bytes(data)
        self.refused([run], str(run / "run.h5"), "format_version 1", "format_version 7")

    def test_a_cut_or_changed_file_is_refused_before_hdf5_opens_it(self):
        run = self.copy()
        for name in ("run.h5", "steps-000001.h5"):
            data = (run / name).read_bytes()
            for length in (0, 7, 511, 512, len(data) // 2, len(data) - 1):
                (run / name).write_bytes(data[:length])
                self.refused([run], "FILE-6", str(run / name))
            for at in (0, 20, 30, 600, len(data) - 1):
                (run / name).write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1:])
                self.refused([run], "FILE-6", str(run / name))
            (run / name).write_bytes(data)

    def test_a_missing_dataset_is_refused_by_name(self):
        run = self.copy()
        with h5py.File(run / "run.h5", "r+") as file:
            del file["steps/gradient_norm"]
        make_run.seal(run / "run.h5")
        self.refused([run], str(run / "run.h5"), "/steps/gradient_norm")

    def test_comparisons_that_do_not_fit_the_runs_are_refused(self):
        runs = self.sets["single"]
        self.refused(runs, "comparisons.json", "1 comparisons for 2 runs", comparisons=[])
        self.refused(runs, "comparisons.json", "JSON", comparisons="{")
        self.refused(runs, runs[1], comparisons=[make_run.comparison(runs[0], "elsewhere", 1)])
        row = make_run.comparison(*runs, 1)
        del row["holds"]
        self.refused(runs, "the key holds", comparisons=[row])

    def test_a_folder_that_cannot_be_written_is_refused_by_name(self):
        (self.work / "file").write_text("")
        code, errors = call(self.work / "file" / "out", self.root / "runs" / "single" / "comparisons.json",
                            self.sets["single"])
        self.assertEqual(code, 2)
        self.assertIn(str(self.work / "file" / "out"), errors)


if __name__ == "__main__":
    unittest.main()
