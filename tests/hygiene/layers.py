"""Includes respect src/layers.txt: a folder of src sees itself and what stands on an earlier line."""

import re
from repository import ROOT, PlantedMistake, code_of, lines_of

INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]')


def read_layers(root):
    """Folder -> line number; folders of one line do not see each other."""
    rows = [line.split() for line in lines_of(root / "src/layers.txt") if line.strip() and not line.startswith("#")]
    return {folder: number for number, row in enumerate(rows) for folder in row}


def wrong_includes(root):
    layers, problems = read_layers(root), []
    for path in code_of(root, "src"):
        if path.suffix == ".py":
            continue
        here = path.relative_to(root / "src").parts
        if here[0] not in layers:
            problems.append(f"src/{here[0]}: not in src/layers.txt")
            continue
        for number, line in enumerate(lines_of(path), 1):
            match = INCLUDE.match(line)
            there = match.group(1).split("/")[0] if match and "/" in match.group(1) else None
            if there in layers and there != here[0] and layers[there] >= layers[here[0]]:
                problems.append(f"{path.relative_to(root)}:{number}: {here[0]} may not include {match.group(1)}")
            if there == "reference" and here[0] != "kernels":
                problems.append(f"{path.relative_to(root)}:{number}: only src/kernels includes the oracle")
            if here[0] == "kernels" and match and re.search(r"philox|random", match.group(1)):
                problems.append(f"{path.relative_to(root)}:{number}: RES-7: no kernel draws random numbers")
    for path in code_of(root, "reference"):
        for number, line in enumerate(lines_of(path), 1):
            match = INCLUDE.match(line)
            if match and match.group(1).split("/")[0] in layers and (root / "src" / match.group(1)).exists():
                problems.append(f"{path.relative_to(root)}:{number}: the oracle includes {match.group(1)} of src")
    return problems


class Layers(PlantedMistake):
    def test_the_includes_of_the_repository_respect_the_layers(self):
        self.assertEqual(wrong_includes(ROOT), [])

    def test_every_folder_of_src_is_a_layer_and_every_layer_a_folder(self):
        folders = {path.name for path in (ROOT / "src").iterdir() if path.is_dir()}
        self.assertEqual(folders, set(read_layers(ROOT)))

    def test_an_include_of_a_later_layer_is_found(self):
        self.plant("src/layers.txt", "base\noptim data\n")
        self.plant("src/base/a.hpp", '// A.\n#include "optim/sgd.hpp"\n')
        self.assertEqual(wrong_includes(self.tree), ["src/base/a.hpp:2: base may not include optim/sgd.hpp"])

    def test_an_include_of_a_neighbour_on_one_line_is_found(self):
        self.plant("src/layers.txt", "base\noptim data\n")
        self.plant("src/data/a.hpp", '#include "base/error.hpp"\n#include "optim/sgd.hpp"\n')
        self.assertEqual(wrong_includes(self.tree), ["src/data/a.hpp:2: data may not include optim/sgd.hpp"])

    def test_an_oracle_that_includes_src_is_found(self):
        self.plant("src/layers.txt", "base\n")
        self.plant("src/base/a.hpp", "// A.\n")
        self.plant("reference/b.hpp", '#include "base/a.hpp"\n')
        self.assertEqual(wrong_includes(self.tree), ["reference/b.hpp:1: the oracle includes base/a.hpp of src"])

    def test_RES_7_a_kernel_that_includes_the_generator_is_found(self):
        self.plant("src/layers.txt", "numerics\nkernels\n")
        self.plant("src/kernels/cpu/a.cpp", '#include "numerics/philox.hpp"\n')
        self.assertEqual(wrong_includes(self.tree), ["src/kernels/cpu/a.cpp:1: RES-7: no kernel draws random numbers"])
