"""What nvcc makes of the kernels: in their PTX each operation on floating numbers is rounded once, to nearest.

ptxas may fuse a bare mul and add, or take less exact ones; what carries .rn it must leave as it is. Its own output is
not looked at: it expands div.rn and sqrt.rn into fused steps, so a count of those says nothing.
"""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from collections import Counter
from pathlib import Path

from listed import ops
from repository import ROOT

NVCC = os.environ.get("NVCC") or shutil.which("nvcc")
# What the build made of the kernels, one file or several; without it the test makes its own.
PTX = [Path(path) for path in os.environ.get("PTX", "").split(os.pathsep) if path]
EXACT_FLAGS = ["-fmad=false", "-ftz=false", "-prec-div=true", "-prec-sqrt=true"]
FLAGS = ["-std=c++20", "-O3", "--expt-relaxed-constexpr", "--extended-lambda"]
FLAGS += ["-DASSAY_ISA=cuda", f"-I{ROOT}/src", f"-I{ROOT}"]

FLOATING = re.compile(r"\.(b?f16(x2)?|b?f32(x2)?|tf32|f64|bf16(x2)?|e\dm\d(x2)?)\b")
COMPARISONS = "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan"
# Everything that may be done with floating numbers. An fma stands where it was written (below), in binary32 alone.
EXACT = [
    ("add, sub, mul, div", r"(add|sub|mul|div)\.rn\.f(32|64)"),
    ("root", r"(sqrt|rcp)\.rn\.f(32|64)"),
    ("fma", r"fma\.rn\.f32"),
    ("conversion that rounds", r"cvt\.rn\.(f32\.f64|f(32|64)\.[us](8|16|32|64))"),
    ("conversion that is exact", r"cvt\.f64\.f32|cvt\.r[nzmp]i\.([us](8|16|32|64)\.f(32|64)|f32\.f32|f64\.f64)"),
    ("sign", r"(neg|abs)\.f(32|64)"),
    ("comparison", rf"(setp|set)\.({COMPARISONS})(\.(and|or|xor))?(\.[us]32)?\.f(32|64)|testp\.\w+\.f(32|64)"),
    ("choice", r"(selp|slct)\.f(32|64)(\.s32)?"),
    ("move", r"(mov|ld|ldu|st)(\.(volatile|relaxed|gpu|cta|sys|param|global|local|shared|const|nc|v2|v4))*\.f(32|64)"),
]
# The least that is believed of all kernels: fewer, and something else than the kernels was read.
LEAST = {"add, sub, mul, div": 500, "root": 3, "fma": 10, "conversion that rounds": 20, "comparison": 50, "move": 100}


HEAD = re.compile(r"\.(?:entry|func)\s+(?:\([^)]*\)\s*)?([\w$]+)")


def statements(text):
    """(line, function, instruction, its text) of every instruction."""
    function = None
    for line, row in enumerate(text.splitlines(), 1):
        row = row.split("//")[0]
        head = HEAD.search(row)
        if head:
            function = head.group(1)
        for statement in re.split(r"[;{}]", row):
            match = re.match(r"\s*(?:[\w$]+:\s*)?(?:@!?%\w+\s+)?([a-z]\w*(?:(?:\.|::)\w+)*)(?=\s|$)", statement)
            if match:
                yield line, function, match.group(1), statement.strip()


def audit(text):
    """(what is refused, how often each kind was seen, fused operations of each function)."""
    defined = set(re.findall(r"^(?!\.extern).*\.func\s+(?:\([^)]*\)\s*)?([\w$]+)", text, re.MULTILINE))
    refused, seen, fused = [], Counter(), Counter()
    for line, function, instruction, statement in statements(text):
        kind = next((kind for kind, pattern in EXACT if re.fullmatch(pattern, instruction)), None)
        if kind:
            seen[kind] += 1
            fused[function] += kind == "fma"
        elif FLOATING.search(instruction) or re.match(r"w?mma|wgmma|tcgen05", instruction):
            refused.append(f"{demangled(function)}: line {line}: {statement}")
    # A call goes over several lines; its target stands alone on one, or behind the results.
    for call in re.finditer(r"\bcall(?:\.uni)?\s+(?:\([^)]*\)\s*,\s*)?([\w$%]+)", text):
        name = call.group(1)
        if name not in defined or name.startswith("__nv_"):
            before = text[: call.start()]
            function = HEAD.findall(before)[-1]
            refused.append(f"{demangled(function)}: line {before.count(chr(10)) + 1}: call of {demangled(name)}")
    return refused, seen, +fused


def demangled(name):
    return subprocess.run(["c++filt", name], capture_output=True, text=True, check=True).stdout.strip()


def entries(text):
    names = re.findall(r"^(?!\.extern).*\.entry\s+([\w$]+)", text, re.MULTILINE)
    return subprocess.run(["c++filt", *names], capture_output=True, text=True, check=True).stdout if names else ""


def kernel_sources():
    """Names of src/kernels/meson.build: ops and plain kernels."""
    text = (ROOT / "src/kernels/meson.build").read_text()
    plain = re.search(r"^plain_kernels\s*=\s*\[(.*?)\]", text, re.MULTILINE | re.DOTALL).group(1)
    return ops(ROOT) + re.findall(r"'(\w+)'", plain)


def without_kernel(entry_names):
    """The sources of which no kernel stands in the PTX: none that is named like a kernel, function or type of it."""
    words = set(re.findall(r"\w+", entry_names))
    named = re.compile(r"^(?:__global__ )?(?:void|struct) (?:__launch_bounds__\(.*?\) )?(\w+)", re.MULTILINE)
    return [
        name
        for name in kernel_sources()
        if words.isdisjoint(named.findall((ROOT / f"src/kernels/cuda/{name}.cu").read_text()))
    ]


def compiled(source, flags=EXACT_FLAGS, target="80"):
    """PTX of a source."""
    with tempfile.TemporaryDirectory() as folder:
        unit, ptx = Path(folder) / "unit.cu", Path(folder) / "unit.ptx"
        unit.write_text(source)
        command = [NVCC, *FLAGS, *flags, f"-arch=compute_{target}", "-ptx", unit, "-o", ptx]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        if ran.returncode:
            raise AssertionError(ran.stderr)
        return ptx.read_text()


def kernels():
    return "".join(f'#include "kernels/cuda/{name}.cu"\n' for name in kernel_sources())


@unittest.skipUnless(NVCC or PTX, "no nvcc here and no PTX of a build: nothing to audit")
class Ptx(unittest.TestCase):
    def test_NUM_13_every_operation_on_floating_numbers_is_rounded_to_nearest_and_none_calls_out(self):
        texts = [path.read_text() for path in PTX] or [compiled(kernels())]
        refused, seen, fused, names = [], Counter(), {}, set()
        for text in texts:
            of_text = audit(text)
            refused += of_text[0]
            seen += of_text[1]
            fused |= {demangled(name): count for name, count in of_text[2].items()}
            names |= set(entries(text).splitlines())
        self.assertEqual(refused, [])
        for kind, least in LEAST.items():
            self.assertGreaterEqual(seen[kind], least, kind)
        self.assertGreaterEqual(len(names), len(kernel_sources()))
        self.assertEqual(without_kernel("\n".join(names)), [])
        print(len(names), "kernels:", dict(seen))
        if PTX and NVCC:
            target = re.search(r"^\.target sm_(\w+)", texts[0], re.MULTILINE).group(1)
            written = audit(compiled(kernels(), target=target))[2]
            self.assertEqual(fused, {demangled(name): count for name, count in written.items()}, "an fma is not written")

    def test_no_kernels_are_not_taken_for_good_ones(self):
        self.assertEqual(without_kernel(""), kernel_sources())
        self.assertEqual(audit("")[1], Counter())


# What must be refused, and what of it the refusal shows.
INEXACT = [
    ("x[0] = rsqrtf(x[1]);", "rsqrt.approx.f32"),
    ("x[0] = __expf(x[1]);", "ex2.approx"),
    ("x[0] = expf(x[1]);", "ex2.approx"),
    ("x[0] = __sinf(x[1]);", "sin.approx.f32"),
    ("x[0] = __frcp_rz(x[1]);", "rcp.rz.f32"),
    ("x[0] = __fadd_rz(x[1], x[2]);", "add.rz.f32"),
    ("x[0] = __fmaf_rz(x[1], x[2], x[3]);", "fma.rz.f32"),
    ("d[0] = fma(d[1], d[2], d[3]);", "fma.rn.f64"),
    ("x[0] = fmaxf(x[1], x[2]);", "max.f32"),
    ("x[0] = __saturatef(x[1] + x[2]);", ".sat"),
    ("x[0] = __double2float_rz(d[0]);", "cvt.rz.f32.f64"),
    ("atomicAdd(x, x[1]);", "add.f32"),
    ("atomicAdd(d, d[1]);", "add.f64"),
    ("x[0] = __half2float(__float2half(x[1]));", "f16"),
    ('asm("add.f32 %0, %1, %2;" : "=f"(x[0]) : "f"(x[1]), "f"(x[2]));', "add.f32"),
    ('printf("%f", x[0]);', "call of vprintf"),
]
EXACT_ONES = [
    "x[0] = x[1] * x[2] + x[3] / x[4]; d[0] = d[1] * d[2] + sqrt(d[3]);",
    "x[0] = __fmaf_rn(x[1], x[2], x[3]) + static_cast<float>(d[0]) + (x[1] < x[2]);",
]


def planted(bodies, flags=EXACT_FLAGS):
    """What is refused of each body, a kernel for each."""
    source = "#include <cstdio>\n#include <cuda_fp16.h>\n"
    for number, body in enumerate(bodies):
        source += f"__global__ void planted_{number}(float* x, double* d) {{ {body} }}\n"
    refused = audit(compiled(source, flags))[0]
    return ["\n".join(row for row in refused if row.startswith(f"planted_{n}(")) for n in range(len(bodies))]


@unittest.skipUnless(NVCC, "no nvcc here")
class Planted(unittest.TestCase):
    def test_NUM_13_inexact_instructions_and_calls_are_found_and_exact_ones_pass(self):
        bodies = [body for body, _ in INEXACT] + EXACT_ONES
        refused = planted(bodies)
        for (body, found), refusal in zip(INEXACT, refused):
            with self.subTest(body):
                self.assertIn(found, refusal)
        self.assertEqual(refused[len(INEXACT) :], [""] * len(EXACT_ONES))
        self.assertRegex(refused[0], r"^planted_0\(float\*, double\*\): line \d+: rsqrt\.approx\.f32\s")

    def test_NUM_13_flags_that_let_go_of_exactness_are_found(self):
        body = "x[0] = x[1] / x[2] + sqrtf(x[3]); d[0] = d[1] * d[2] + d[3];"
        for flag, found in (
            ("-fmad=true", "fma.rn.f64"),
            ("-use_fast" + "_math", "div.approx.ftz.f32"),
            ("-ftz=true", "sqrt.rn.ftz.f32"),
            ("-prec-div=false", "div.full.f32"),
            ("-prec-sqrt=false", "sqrt.approx.f32"),
        ):
            with self.subTest(flag):
                self.assertIn(found, planted([body], [flag])[0])

    def test_NUM_13_a_fused_product_that_nobody_wrote_is_counted(self):
        source = "__global__ void planted(float* x) { x[0] = x[1] * x[2] + x[3]; }\n"
        self.assertEqual(audit(compiled(source))[2], Counter())
        self.assertEqual(list(audit(compiled(source, ["-fmad=true"]))[2].values()), [1])


if __name__ == "__main__":
    unittest.main()
