"""The contracts on a GPU: cuda.py ASSAY TEST_PROGRAM RESULT.xml. Without one it is skipped, exit status 77, with the
reason; REQUIRE_CUDA_DEVICE=1 turns that into a failure."""

import os
import subprocess
import sys
import xml.etree.ElementTree as xml

assay, program, result = sys.argv[1:]
devices = subprocess.run([assay, "devices"], stdout=subprocess.PIPE, text=True, check=True).stdout
line = next(line for line in devices.splitlines() if line.startswith("cuda "))
if " not usable " not in line:
    os.execv(program, [program, "--run_test=cuda", f"--logger=HRF,warning,stdout:JUNIT,message,{result}"])

print(line)
if os.environ.get("REQUIRE_CUDA_DEVICE") == "1":
    sys.exit("REQUIRE_CUDA_DEVICE=1 asks for a GPU")
suite = xml.Element("testsuite", tests="1")
case = xml.SubElement(suite, "testcase", classname="cuda", name="contracts")
xml.SubElement(case, "skipped", message=" ".join(line.split()))
xml.ElementTree(suite).write(result, encoding="unicode")
sys.exit(77)
