"""`assay run` on data files that are damaged or wrong: exit status 2, the file named, nothing written."""

import gzip
import os
import struct

from command import CommandTest

EXPERIMENT = """
[data]
kind = "fashion_mnist"
path = "{path}"
validation = 8

[model]
layers = [784, 8, 10]

[train]
batch = 8
steps = 4
"""


def idx(shape, elements, kind=0x08):
    return struct.pack(f">HBB{len(shape)}I", 0, kind, len(shape), *shape) + elements


def images(count):
    return idx((count, 28, 28), bytes(i * 7 % 256 for i in range(count * 784)))


def labels(count):
    return idx((count,), bytes(i % 10 for i in range(count)))


class BadData(CommandTest):
    def setUp(self):
        super().setUp()
        self.data = self.folder / "data"
        self.data.mkdir()
        self.files = {
            "train-images-idx3-ubyte": images(40),
            "train-labels-idx1-ubyte": labels(40),
            "t10k-images-idx3-ubyte": images(20),
            "t10k-labels-idx1-ubyte": labels(20),
        }
        for name, content in self.files.items():
            (self.data / name).write_bytes(content)
        self.experiment.write_text(EXPERIMENT.format(path=self.data))

    def refused(self, name, content, *words):
        (self.data / name).write_bytes(content)
        self.assert_refused(self.train(), name, *words)
        self.assert_nothing_written()

    def test_the_good_files_are_accepted(self):
        self.trained()

    def test_FILE_6_a_truncated_file_is_refused_by_name(self):
        content = self.files["train-images-idx3-ubyte"]
        for length in (0, 1, 3, 4, 15, 16, 17, len(content) - 1):
            with self.subTest(length=length):
                self.refused("train-images-idx3-ubyte", content[:length])

    def test_FILE_6_bytes_after_the_end_are_refused(self):
        self.refused("train-labels-idx1-ubyte", self.files["train-labels-idx1-ubyte"] + b"\0")

    def test_FILE_6_a_truncated_gzip_file_is_refused_by_name(self):
        name = "t10k-images-idx3-ubyte"
        (self.data / name).unlink()
        content = gzip.compress(self.files[name])
        for length in (2, 10, len(content) // 2, len(content) - 1):
            with self.subTest(length=length):
                self.refused(name + ".gz", content[:length])

    def test_FILE_6_a_damaged_gzip_file_is_refused_by_name(self):
        name = "t10k-images-idx3-ubyte"
        (self.data / name).unlink()
        content = bytearray(gzip.compress(self.files[name]))
        content[-6] ^= 1  # in the checksum
        self.refused(name + ".gz", bytes(content))

    def test_FILE_6_a_wrong_magic_is_refused_by_name(self):
        self.refused("train-images-idx3-ubyte", b"\1" + self.files["train-images-idx3-ubyte"][1:])

    def test_FILE_6_a_label_out_of_range_is_refused_with_its_index(self):
        content = bytearray(self.files["train-labels-idx1-ubyte"])
        content[8 + 23] = 10
        self.refused("train-labels-idx1-ubyte", bytes(content), "label 23", "10")

    def test_FILE_6_a_NaN_is_refused_with_its_place(self):
        values = [0.5] * (40 * 784)
        values[3 * 784 + 5] = float("nan")
        self.refused(
            "train-images-idx3-ubyte",
            idx((40, 28, 28), struct.pack(f">{len(values)}f", *values), 0x0D),
            "sample 3",
            "nan",
        )

    def test_FILE_6_a_negative_size_in_the_header_is_refused(self):
        content = bytearray(self.files["train-images-idx3-ubyte"])
        content[4:8] = b"\xff\xff\xff\xff"
        self.refused("train-images-idx3-ubyte", bytes(content))

    def test_FILE_6_sizes_that_do_not_fit_each_other_are_refused(self):
        self.refused("train-labels-idx1-ubyte", labels(39), "39")

    def test_RUN_3_missing_data_names_the_package_or_the_key(self):
        done = self.train("--set", f"data.path={self.folder}/nowhere")
        self.assert_refused(done, "dataset-fashion-mnist", "data.path")
        self.assert_nothing_written()

    def test_RUN_3_data_with_another_digest_is_refused(self):
        wrong = "0" * 64
        self.experiment.write_text(
            EXPERIMENT.format(path=self.data) + f'[data.digests]\ntrain-images-idx3-ubyte = "{wrong}"\n'
        )
        self.assert_refused(self.train(), "train-images-idx3-ubyte", wrong)
        self.assert_nothing_written()

    def test_RUN_3_without_the_verses_of_the_bible_the_package_is_named(self):
        programs = self.folder / "programs"
        programs.mkdir()
        bible = programs / "bible"
        for script, found in (
            (None, "no such program"),
            ("exit 3", "exit status 3"),
            ("kill -9 $$", "its end by signal 9"),
            ("echo Ge1:1 In the beginning", "1 verses"),
            ("echo In the beginning", 'a line without a reference, "In the beginning"'),
            ("echo In", 'a line without a reference, "In"'),
            ("exec cat /dev/zero", "its end by signal 13"),
        ):
            with self.subTest(script=script):
                if script:
                    bible.write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n")
                    bible.chmod(0o755)
                done = self.train("--set", "data.kind=bible_kjv", env={**os.environ, "PATH": str(programs)})
                self.assert_refused(done, "bible_kjv", "apt-get install bible-kjv", f"found {found}")
                self.assert_nothing_written()

    def test_FILE_6_a_text_that_is_missing_is_refused_by_name(self):
        done = self.train("--set", "data.kind=text", "--set", f"data.path={self.folder}/nowhere.txt")
        self.assert_refused(done, "data.path", "nowhere.txt")
        self.assert_nothing_written()
