/* Compiles what the page imports first, in the Python that will run it: node compile.mjs PYODIDE FOLDER.
   FOLDER has stdlib.zip, kipwire.zip and compiling.py; each zip is replaced. */

import {readFileSync, writeFileSync} from "node:fs";
import {pathToFileURL} from "node:url";

const [pyodide, folder] = process.argv.slice(2);
const {loadPyodide} = await import(pathToFileURL(`${pyodide}/pyodide.mjs`));
const python = await loadPyodide({indexURL: pyodide, stdLibURL: `${folder}/stdlib.zip`});
for (const name of ["stdlib.zip", "kipwire.zip", "compiling.py"]) {
  python.FS.writeFile(`/${name}`, readFileSync(`${folder}/${name}`));
}
python.runPython("import sys; sys.argv = ['kipwire']; sys.path[:0] = ['/kipwire.zip', '/']; import compiling");
const compiling = python.pyimport("compiling");
compiling.load();
for (const [name, level] of [["stdlib.zip", 2], ["kipwire.zip", 0]]) {
  compiling.compile_loaded(`/${name}`, level);
  writeFileSync(`${folder}/${name}`, python.FS.readFile(`/${name}`));
}
