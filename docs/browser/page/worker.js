/* The Web Worker in which Python runs. It answers one message at a time: {id, call, arguments, files, specs}.
   To the page it posts {loaded, of}: bytes; {started}: Python runs; {id, value} or {id, error}: an answer. */

const HERE = new URL("./python/", import.meta.url);
const FOLDER = "/bytes", SPECS = "/specs";
let python = null, answer = null, mounted = null, generated = null;

/* Reads a file, and reports each piece of it. What is compressed may have been decompressed by the browser already,
   where a server says that it is compressed. */
async function read(name, report = () => {}) {
  const response = await fetch(new URL(name, HERE));
  if (!response.ok) throw new Error(`${name}: the server answers ${response.status}`);
  const pieces = [];
  const reader = response.body.getReader();
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    pieces.push(piece.value);
    report(piece.value.length);
  }
  const whole = new Uint8Array(await new Blob(pieces).arrayBuffer());
  if (!name.endsWith(".gz") || whole[0] !== 0x1f || whole[1] !== 0x8b) return whole;
  const plain = new Blob([whole]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(plain).arrayBuffer());
}

async function start() {
  const about = JSON.parse(new TextDecoder().decode(await read("files.json")));
  const names = Object.keys(about.files), of = names.reduce((sum, name) => sum + about.files[name], 0);
  let loaded = 0;
  const report = (size) => postMessage({loaded: loaded = Math.min(of, loaded + size), of});
  const [module, ...contents] = await Promise.all([
    import(new URL("pyodide.mjs", HERE)), ...names.map((name) => read(name, report))]);
  const files = Object.fromEntries(names.map((name, number) => [name, contents[number]]));
  const known = {"pyodide.asm.wasm": files["python.wasm.gz"], "python_stdlib.zip": files["stdlib.zip.gz"]};
  const types = {"pyodide.asm.wasm": "application/wasm"};
  self.fetch = async (url) => {  // from here on nothing is loaded, but what is there
    const name = new URL(url, HERE).pathname.split("/").at(-1);
    if (!(name in known)) throw new Error(`${url}: this page loads nothing`);
    return new Response(known[name], {headers: {"content-type": types[name] ?? "application/zip"}});
  };
  python = await module.loadPyodide({
    indexURL: HERE.href, lockFileContents: about.lock, packageBaseUrl: HERE.href, stdLibURL: new URL("python_stdlib.zip", HERE).href});
  python.FS.writeFile("/kipwire.zip", files["kipwire.zip.gz"]);
  python.unpackArchive(files["compressors.whl"].buffer, "zip", {extractDir: "/compressors"});
  python.FS.mkdirTree(FOLDER);
  python.runPython("import sys; sys.path[:0] = ['/kipwire.zip', '/compressors']; sys.argv = ['kipwire']");
  python.runPython("import looking");
  answer = python.pyimport("looking").answer;
  delete self.fetch;
  postMessage({started: true});
}

/* Makes the files of a question those of the current folder. Python reads them piece by piece from where they are. */
function mount(files) {
  if (mounted !== null && mounted.length === files.length && files.every((one, n) =>
    one.name === mounted[n].name && one.data === mounted[n].data)) return;
  python.FS.chdir("/");
  if (mounted !== null) python.FS.unmount(FOLDER);
  python.FS.mount(python.FS.filesystems.WORKERFS, {blobs: files}, FOLDER);
  python.FS.chdir(FOLDER);
  mounted = files;
}

async function generate(specs) {
  if (generated === null) {
    python.FS.writeFile("/generator.xz", await read("generator.zip.xz"));
    python.runPython("looking.unpack_generator('/generator.xz')");
  }
  python.runPython(`import shutil; shutil.rmtree('${SPECS}', ignore_errors=True)`);
  python.FS.mkdirTree(SPECS);
  for (const {name, data} of specs) {
    python.FS.writeFile(`${SPECS}/${name.split("/").at(-1)}`, new Uint8Array(await data.arrayBuffer()));
  }
  generated = specs;
  return JSON.parse(answer(JSON.stringify({call: "generate", arguments: [SPECS]})));
}

const ready = start();
ready.catch((error) => postMessage({failed: String(error?.message ?? error)}));

let before = ready;
addEventListener("message", ({data: {id, call, arguments: given, files, specs}}) => {
  before = before.then(async () => {
    try {
      if (call === "generate") return postMessage({id, value: await generate(specs)});
      if (specs?.length && generated === null) await generate(specs);
      if (files) mount(files);
      postMessage({id, value: JSON.parse(answer(JSON.stringify({call, arguments: given})))});
    } catch (error) {
      postMessage({id, error: String(error?.message ?? error).trim().split("\n").slice(-3).join("\n")});
    }
  });
});
