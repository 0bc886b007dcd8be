"""What the kernel objects of a release build may name: libm only under fast and hypotheses; no symbol of two builds."""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

from repository import ROOT

BUILD = os.environ.get("BUILD")
ISAS = ("baseline", "avx2", "avx512")
FAST_ISAS = tuple(f"fast_{isa}" for isa in ISAS)
SIMULATED_ISAS = tuple(f"simulated_{isa}" for isa in ISAS)
# What an exact kernel may call: the thread pool, its scratch memory, and what compilers make of loops.
MAY_CALL = {"memcpy", "memmove", "memset", "assay::detail::parallel", "assay::thread_scratch"}
# One of the profile fast also calls libm, and Eigen takes memory and may find none.
LIBM = {"expf", "logf", "tanhf", "erff"}
FAST_MAY_CALL = MAY_CALL | LIBM | {"malloc", "free", "_Unwind_Resume", "__gxx_personality_v0"}
FAST_MAY_CALL |= {"__cxa_allocate_exception", "__cxa_throw", "__cxa_guard_acquire", "__cxa_guard_release"}
FAST_MAY_CALL |= {"std::bad_alloc::~bad_alloc", "typeinfo for std::bad_alloc", "vtable for std::bad_alloc"}
# One of the simulated device calls the layer that runs its lanes, for its memory, and unwinds when a launch throws.
SIMULATED_MAY_CALL = {"memcpy", "memmove", "memset", "_Unwind_Resume", "__gxx_personality_v0", "__tls_get_addr"}
SIMULATED_MAY_CALL |= {"assay::simulated_memory::host_distance", "assay::Scratch::Scratch", "assay::Scratch::~Scratch"}
SIMULATED_MAY_CALL |= {"assay::Scratch::data", "assay::simt::detail::run", "assay::simt::detail::here"}
SIMULATED_MAY_CALL |= {f"assay::simt::{name}" for name in ("barrier", "exchange", "ballot", "shared", "block_lanes")}
# One of a hypothesis runs on the calling thread and asks what is switched.
HYPOTHESES = ("hypothesis", "contracted")
HYPOTHESIS_MAY_CALL = LIBM | MAY_CALL - {"assay::detail::parallel"} | {"assay::detail::current_arithmetic"}
HARMLESS = "DW.ref.__gxx_personality_v0"  # a weak pointer to the run time of C++


def symbols(path):
    """(kind, demangled name) of every symbol of an object or archive, as nm letters them."""
    text = subprocess.run(["nm", "-C", path], capture_output=True, text=True, check=True).stdout
    return [match.groups() for match in re.finditer(r"^(?:[0-9a-f]{16}| {16}) (\w) (.*)$", text, re.MULTILINE)]


def library(isa):
    return Path(BUILD) / f"src/kernels/libkernels_{isa}.a"


def strange_symbols(path, isa, may_call=MAY_CALL):
    """Calls out of the kernels that nobody allowed, and weak definitions outside of the build's own namespace.

    The linker keeps one copy of a weak symbol: were it the AVX-512 one, the baseline build would run its instructions.
    """
    found = []
    for kind, name in symbols(path):
        base = re.split(r"[(@<]", name)[0]
        own = f"::{isa}::" in name or f"Eigen_{isa}::" in name
        if kind == "U" and base not in may_call and not own and not name.startswith("_GLOBAL_OFFSET"):
            found.append(f"calls {name}")
        if kind in "WVu" and not own and name != HARMLESS:
            found.append(f"defines {name}")
    return found


@unittest.skipUnless(BUILD, "needs the built library: run by meson test")
class Objects(unittest.TestCase):
    def test_NUM_13_kernels_call_no_libm_and_define_nothing_outside_of_their_namespace(self):
        for isa in ISAS:
            self.assertEqual(strange_symbols(library(isa), isa), [], isa)

    def test_fast_kernels_call_libm_and_define_nothing_outside_of_their_namespace_and_their_Eigen(self):
        for isa in FAST_ISAS:
            self.assertEqual(strange_symbols(library(isa), isa, FAST_MAY_CALL), [], isa)
            self.assertLessEqual(LIBM, {name for kind, name in symbols(library(isa)) if kind == "U"}, isa)

    def test_NUM_13_kernels_of_the_simulated_device_call_no_libm_and_define_nothing_outside_of_their_namespace(self):
        for isa in SIMULATED_ISAS:
            self.assertEqual(strange_symbols(library(isa), isa, SIMULATED_MAY_CALL), [], isa)
            defined = {name for kind, name in symbols(library(isa)) if kind in "TW"}
            self.assertGreater(len(defined), 50, isa)

    def test_kernels_of_hypotheses_ask_what_is_switched_and_define_nothing_outside_of_their_namespace(self):
        for build in HYPOTHESES:
            self.assertEqual(strange_symbols(library(build), build, HYPOTHESIS_MAY_CALL), [], build)
            called = {name for kind, name in symbols(library(build)) if kind == "U"}
            self.assertLessEqual(LIBM | {"assay::detail::current_arithmetic"}, called, build)

    def test_no_two_builds_define_one_weak_symbol(self):
        owners = {}
        for isa in ISAS + FAST_ISAS + SIMULATED_ISAS + HYPOTHESES:
            for name in {name for kind, name in symbols(library(isa)) if kind in "WVu" and name != HARMLESS}:
                self.assertEqual(owners.setdefault(name, isa), isa, name)
        self.assertTrue(owners)

    def test_it_finds_a_planted_libm_call_and_a_planted_weak_symbol(self):
        source = "#include <cmath>\ninline float twice(float x) { return 2 * x; }\nfloat (*weak)(float) = twice;\n"
        source += "float call(float x) { return std::exp(x); }\n"
        with tempfile.TemporaryDirectory() as folder:
            planted = Path(folder) / "planted.o"
            command = ["g++", "-O2", "-c", "-x", "c++", "-", "-o", planted]
            subprocess.run(command, input=source, text=True, check=True)
            self.assertEqual(strange_symbols(planted, "avx2"), ["defines twice(float)", "calls expf"])


if __name__ == "__main__":
    unittest.main()
