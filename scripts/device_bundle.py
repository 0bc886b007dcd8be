"""What scripts/device_check takes to a machine with a GPU: programs, the libraries they need, data, and a manifest."""

import dataclasses
import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from suite import RELEASE, ROOT, configure
from terminal import Stages

FOLDER = ROOT / "build" / "device_check"
LIMIT = 60_000_000  # bytes
PROGRAMS = ("src/app/assay", "tests/assay_contracts", "tests/benchmark_cases")
EXPERIMENT = "experiments/fashion_mnist/smoke.toml"
DATA = Path("/usr/share/datasets/fashion-mnist")
# Every machine with glibc has these, and they fit its loader only.
OF_GLIBC = re.compile(
    r"(linux-vdso|ld-linux|lib(c|m|dl|pthread|rt|resolv|util|anl|mvec|nsl|nss_\w+|BrokenLocale)\.so)[-.\w]*"
)
# What the programs are made of or read from the repository. The bundle of other sources is stale.
SOURCES = ("src", "tests", "reference", "experiments")
SOURCE_SUFFIXES = {".build", ".cpp", ".cu", ".cuh", ".hpp", ".in", ".toml", ".tsv"}


class CannotRun(Exception):
    """Nothing can be checked here, for the reason that the text gives, with what to do."""


def sha256(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def sources_digest(root=ROOT):
    """SHA-256 over names and contents, so that it needs no git where the bundle is used."""
    found = [root / "meson.build", root / "meson_options.txt"]
    for folder in SOURCES:
        found += [path for path in (root / folder).rglob("*") if path.suffix in SOURCE_SUFFIXES]
    lines = sorted(f"{path.relative_to(root)} {sha256(path)}\n" for path in found if path.is_file())
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def toolkits():
    """Where a CUDA toolkit may lie."""
    return [place for place in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda") if place]


def environment_for(unpacked):
    """The environment of unpacked programs: their libraries first, cuBLAS wherever a toolkit lies."""
    folders = [str(unpacked / "lib"), *os.environ.get("LD_LIBRARY_PATH", "").split(":")]
    folders += [f"{toolkit}/lib64" for toolkit in toolkits()]
    return {**os.environ, "LD_LIBRARY_PATH": ":".join(folder for folder in folders if folder)}


def glibc_here():
    try:
        return os.confstr("CS_GNU_LIBC_VERSION").split()[-1]  # "glibc 2.36"
    except (ValueError, OSError, AttributeError):
        raise CannotRun("the programs of the bundle need glibc, and this system has another C library")


def libraries_of(program, environment=None):
    """Name -> path, None where there is none, of all that a program or library loads when it starts."""
    text = subprocess.run(["ldd", program], stdout=subprocess.PIPE, text=True, check=True, env=environment).stdout
    found = {}
    for line in text.splitlines():
        match = re.match(r"\s*(\S+)(?: => (not found|\S+))?", line)
        if match and ".so" in match.group(1):
            name, place = Path(match.group(1)).name, match.group(2) or match.group(1)
            found[name] = None if place == "not found" else Path(place)
    return found


def glibc_needed(paths):
    """The oldest glibc that has every symbol which these files ask of it: "2.34"."""
    text = subprocess.run(["readelf", "-V", "-W", *paths], stdout=subprocess.PIPE, text=True, check=True).stdout
    versions = {tuple(map(int, version.split("."))) for version in re.findall(r"\bGLIBC_(2\.[\d.]+\d|2\.\d)\b", text)}
    return ".".join(map(str, max(versions)))


def copy_libraries(folder):
    """Puts every library that the programs in bin/ need into lib/, except glibc's; no other may be used then."""
    programs = sorted((folder / "bin").iterdir())
    (folder / "lib").mkdir()
    for program in programs:
        for name, path in libraries_of(program).items():
            if OF_GLIBC.fullmatch(name):
                continue
            if path is None:
                raise CannotRun(f"{program.name} needs {name}, which this machine does not have")
            if not (folder / "lib" / name).exists():
                shutil.copyfile(path, folder / "lib" / name)
    environment = {**os.environ, "LD_LIBRARY_PATH": str(folder / "lib")}
    for file in [*programs, *sorted((folder / "lib").iterdir())]:
        for name, path in libraries_of(file, environment).items():
            if not OF_GLIBC.fullmatch(name) and (path is None or path.parent != folder / "lib"):
                raise CannotRun(f"{file.name} would use {path or name}, which is not in the bundle")


def compress(folder, bundle):
    """bin/ and lib/ of `folder` go into the bundle, each file by itself."""
    for part in ("bin", "lib"):
        (bundle / part).mkdir(parents=True)
        for path in sorted((folder / part).iterdir()):
            packed = gzip.compress(path.read_bytes(), compresslevel=6)
            (bundle / part / f"{path.name}.gz").write_bytes(packed)


def unpack(bundle, folder):
    """The other way."""
    for part in ("bin", "lib"):
        (folder / part).mkdir()
        for path in (bundle / part).iterdir():
            file = folder / part / path.stem
            file.write_bytes(gzip.decompress(path.read_bytes()))
            file.chmod(0o755)


def close(bundle, facts, limit=LIMIT):
    """Writes the manifest of a folder that has everything else. Errors: CannotRun when it is larger than `limit`."""
    files = [
        {"path": str(path.relative_to(bundle)), "bytes": path.stat().st_size, "sha256": sha256(path)}
        for path in sorted(bundle.rglob("*"))
        if path.is_file()
    ]
    size = sum(file["bytes"] for file in files)
    if size > limit:
        largest = sorted(files, key=lambda file: -file["bytes"])[:8]
        raise CannotRun(
            f"the bundle has {size / 1e6:.1f} MB and may have {limit / 1e6:.1f}; the largest: "
            + ", ".join(f"{file['path']} {file['bytes'] / 1e6:.1f} MB" for file in largest)
        )
    manifest = {"format": 1, **facts, "bytes": size, "files": files}
    (bundle / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
    return manifest


def opened(bundle, root=ROOT):
    """The manifest of a bundle that is whole and belongs to these sources. Errors: CannotRun."""
    again = "; on a machine with nvcc and the packages of scripts/test: scripts/device_check --pack"
    try:
        manifest = json.loads((bundle / "manifest.json").read_text())
        if manifest["format"] != 1:
            raise CannotRun(f"the bundle in {bundle} has format {manifest['format']}, and this reads 1{again}")
        if manifest["sources"] != sources_digest(root):
            raise CannotRun(f"the bundle in {bundle} is of other sources, commit {manifest['commit'][:12]}{again}")
        for file in manifest["files"]:
            if sha256(bundle / file["path"]) != file["sha256"]:
                raise CannotRun(f"{bundle / file['path']} is not what the manifest says{again}")
    except OSError as error:
        raise CannotRun(f"no whole bundle in {bundle}: {error.strerror}: {error.filename}{again}")
    except (ValueError, KeyError, TypeError) as error:
        raise CannotRun(f"{bundle / 'manifest.json'} cannot be read: {error!r}{again}")
    needed, here = manifest["glibc"], glibc_here()
    if tuple(map(int, here.split("."))) < tuple(map(int, needed.split("."))):
        raise CannotRun(f"the bundle needs glibc {needed}, and this machine has {here}; pack it on an older system")
    return manifest


def facts_of(programs):
    """What the manifest says of unpacked programs of these sources."""
    output = lambda *command: subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    about = json.loads(output(programs / "bin/benchmark_cases", "about"))
    return {
        "commit": about["git_commit"],
        "dirty": about["git_dirty"],
        "sources": sources_digest(),
        "compiler": about["compiler"],
        "build_type": about["build_type"],
        "nvcc": re.search(r"CUDA ([\d.]+\d)", output(programs / "bin/assay", "--version")).group(1),
        "glibc": glibc_needed([*(programs / "bin").iterdir(), *(programs / "lib").iterdir()]),
        "packed": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def pack(bundle=FOLDER):
    """Builds the programs and writes the bundle; prints its size by part."""
    stages = Stages(ROOT / "build" / "logs")
    with_cuda = dataclasses.replace(RELEASE, options=[*RELEASE.options, "-Dcuda=enabled"])
    configure(stages, with_cuda, strict=False)
    stages.run("release: build", ["ninja", "-C", RELEASE.folder, *PROGRAMS])
    begin, new = time.monotonic(), bundle.with_name(bundle.name + ".new")
    shutil.rmtree(new, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="assay-device-check-") as folder:
        programs = Path(folder)
        (programs / "bin").mkdir()
        for program in PROGRAMS:
            subprocess.run(["strip", "-o", programs / "bin" / Path(program).name, RELEASE.folder / program], check=True)
        copy_libraries(programs)
        facts = facts_of(programs)
        compress(programs, new)
    (new / "data").mkdir()
    for path in sorted(DATA.glob("*.gz")):
        shutil.copyfile(path, new / "data" / path.name)
    (new / EXPERIMENT).parent.mkdir(parents=True)
    shutil.copyfile(ROOT / EXPERIMENT, new / EXPERIMENT)
    manifest = close(new, facts)
    shutil.rmtree(bundle, ignore_errors=True)
    new.rename(bundle)
    stages.done("pack", time.monotonic() - begin, True, f"{bundle.relative_to(ROOT)}, {manifest['bytes'] / 1e6:.1f} MB")
    parts = {}
    for file in manifest["files"]:
        parts.setdefault(file["path"].split("/")[0], []).append(file["bytes"])
    for part, sizes in parts.items():
        print(f"    {part:<12} {len(sizes):>3} files {sum(sizes) / 1e6:8.1f} MB")
    print(f"    needs glibc {manifest['glibc']} or later")
    return manifest
