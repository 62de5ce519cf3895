"""Write the folder of the page: `python -m docs.browser [OUT] [DOWNLOADS]`."""

from __future__ import annotations

import gzip
import json
import shutil
import sys
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory

from docs.browser import packing
from docs.browser.downloads import PYODIDE, pyodide, run, wheels
from kipwire.cli.page import part

ROOT = Path(__file__).resolve().parents[2]
_HERE = Path(__file__).parent
_FIRST = ("click",)
_COMPRESSORS = ("cramjam",)
_GENERATOR = (
    "attrs", "black", "jinja2", "jsonschema", "jsonschema-specifications", "mypy-extensions", "packaging", "pathspec",
    "platformdirs", "pytokens", "referencing", "rich", "typing-extensions",
)  # fmt: skip
_GENERATOR_ON_LINUX = ("markupsafe",)
"""Has no wheel for WebAssembly, but the same in Python inside of its wheels for other systems."""
_SCRIPTS = (("kipwire.console.inspect", "page.js"), ("kipwire.console", "lines_page.js"))
"""The scripts of pages that commands write; the page's policy lets them run, and no other inline script."""
MOST_BYTES = 9_000_000
"""The limit for all files together, as servers send them."""
_COMPRESSED_BY_SERVERS = frozenset({".html", ".css", ".js", ".mjs", ".json"})


def write_page(root: Path, out: Path, downloads: Path) -> dict[str, int]:
    """Write the folder, replacing what was there, and return the size of each file as servers send it: compressed.

    Args:
        root: the repository.
        out: the folder.
        downloads: where downloaded files are kept.

    Raises:
        OSError: a file cannot be downloaded or written.
        ValueError: a file is not the one that is known, or all are larger than `MOST_BYTES`.
    """
    lock = (root / "requirements-dev.lock").read_text("utf-8")
    python = pyodide(downloads)
    first = wheels(_FIRST, lock, downloads / "first")
    (compressors,) = wheels(_COMPRESSORS, lock, downloads / "compressors")
    of_generator = wheels(_GENERATOR, lock, downloads / "generator")
    of_generator += wheels(_GENERATOR_ON_LINUX, lock, downloads / "generator-on-linux", for_wasm=False)
    info = json.loads((python / "pyodide-lock.json").read_text("utf-8"))["info"]
    looking = {"looking.py": (_HERE / "looking.py").read_bytes()}
    stand_ins = {name: (_HERE / name).read_bytes() for name in ("rpds.py", "watchfiles.py")}
    library = packing.stored(packing.standard_library(python / "python_stdlib.zip"))
    ours = packing.stored({**packing.kipwire(root), **packing.python_of(first), **looking})
    library, ours = _compiled(python, library, ours)
    loaded = {
        "python.wasm.gz": packing.compressed((python / "pyodide.asm.wasm").read_bytes()),
        "stdlib.zip.gz": packing.compressed(library),
        "kipwire.zip.gz": packing.compressed(ours),
        "compressors.whl": compressors.read_bytes(),
    }
    generator = {**packing.generator(root), **packing.python_of(of_generator), **stand_ins}
    later = {"generator.zip.xz": packing.compressed_for_python(packing.stored(generator))}
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(_HERE / "page", out)
    (out / "python").mkdir()
    for name in ("pyodide.mjs", "pyodide.asm.mjs"):
        shutil.copy(python / name, out / "python")
    for name, data in {**loaded, **later}.items():
        (out / "python" / name).write_bytes(data)
    sizes = {
        "pyodide": PYODIDE,
        "lock": {"info": info, "packages": {}},
        "files": {n: len(d) for n, d in loaded.items()},
    }
    (out / "python" / "files.json").write_text(json.dumps(sizes), "utf-8")
    _copy_samples(root, out / "samples")
    page = (out / "index.html").read_text("utf-8")
    (out / "index.html").write_text(page.replace("SCRIPTS", " ".join(map(_hash, _SCRIPTS))), "utf-8")
    found = {file.relative_to(out).as_posix(): _sent(file) for file in sorted(out.rglob("*")) if file.is_file()}
    if sum(found.values()) > MOST_BYTES:
        raise ValueError(f"{out}: has {sum(found.values()):,} bytes, more than {MOST_BYTES:,}; leave something out")
    return found


def _compiled(python: Path, library: bytes, ours: bytes) -> tuple[bytes, bytes]:
    """Compile what is imported first, in the page's own Python; it runs in Node."""
    node = which("node")
    if node is None:
        raise OSError("node is missing, which compiles the modules for the page; install Node")
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "stdlib.zip").write_bytes(library)
        (folder / "kipwire.zip").write_bytes(ours)
        shutil.copy(_HERE / "compiling.py", folder)
        run([node, str(_HERE / "compile.mjs"), str(python.resolve()), str(folder)])
        return (folder / "stdlib.zip").read_bytes(), (folder / "kipwire.zip").read_bytes()


def _sent(file: Path) -> int:
    data = file.read_bytes()
    return len(packing.compressed(data) if file.suffix in _COMPRESSED_BY_SERVERS else data)


def _copy_samples(root: Path, out: Path) -> None:
    """Copy the files that the page offers as samples."""
    out.mkdir()
    capture = root / "tests/data/clients/kafka-python-3.0.12.pcap.gz"
    (out / "capture.pcap").write_bytes(gzip.decompress(capture.read_bytes()))
    shutil.copy(root / "tests/data/segments/orders-0/00000000000000000000.log", out / "segment.log")


def _hash(script: tuple[str, str]) -> str:
    return f"'sha256-{b64encode(sha256(part(*script).encode()).digest()).decode()}'"


def main(arguments: list[str]) -> int:
    """Write the folder, and print its sizes; return the exit status."""
    out = Path(arguments[0] if arguments else "build/browser")
    downloads = Path(arguments[1] if len(arguments) > 1 else "build/browser-downloads")
    try:
        found = write_page(ROOT, out, downloads)
    except (OSError, ValueError) as error:
        print(f"make browser: {error}", file=sys.stderr)
        return 1
    for name, size in found.items():
        print(f"{size:>10,}  {name}")
    print(f"{sum(found.values()):>10,}  bytes in all")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
