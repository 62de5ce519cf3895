/* Runs tests/support/golden_in_wasm.py in the CPython that is WebAssembly: node golden_in_wasm.mjs PYODIDE ROOT.
   Prints what it says, a JSON object, on the last line. */

import {pathToFileURL} from "node:url";

const [pyodide, root] = process.argv.slice(2);
const {loadPyodide} = await import(pathToFileURL(`${pyodide}/pyodide.mjs`));
const python = await loadPyodide({indexURL: pyodide});
python.mountNodeFS("/repository", root);
python.runPython(`
import sys
sys.path[:0] = ["/repository/generated", "/repository/runtime", "/repository"]
sys.dont_write_bytecode = True
`);
const golden = python.pyimport("tests.support.golden_in_wasm");
console.log(golden.checked());
