/* The page: takes bytes and files, asks the worker which command shows them, and shows what the command says. */

const $ = (id) => document.getElementById(id);
const MOST_TEXT = 200_000;  // characters that the field shows; a longer text is kept as a file
const MOST_LINK = 30_000;   // characters of hex in a link
const MOST_PAGE = 8_000_000; // bytes of files that are a page at first; of larger ones the beginning is shown, as text
const PASTED = "pasted.txt";
const SAMPLES = {
  request: {hex: "0000001f0003000900000007000762696c6c696e670002076f72646572730001000000", form: ""},
  response: {hex: "0000001b00000007000000000000000000000001036b31000023840105016e", form: "response:FindCoordinator:3"},
};

let worker = null, questions = new Map(), last = 0, since = 0, clock = 0;
let files = [], specs = [], packages = [], held = null;  // held: a pasted text that is too long for the field
let shown = null;    // {words, view, note, isFrame}
let turn = 0;        // the newest wish; what belongs to an older one is dropped

// The worker.

function startWorker() {
  const here = new URL("worker.js", document.baseURI).href;
  const code = URL.createObjectURL(new Blob([`import ${JSON.stringify(here)};`], {type: "text/javascript"}));
  worker = new Worker(code, {type: "module"});  // a worker made from a blob has the policy of its page
  worker.addEventListener("message", ({data}) => {
    if ("loaded" in data) return progress(data.loaded, data.of);
    if (data.failed) return say(data.failed, true);
    if (data.started) return started();
    const {done, failed} = questions.get(data.id) ?? {};
    questions.delete(data.id);
    if (data.error === undefined) done?.(data.value); else failed?.(new Error(data.error));
  });
  worker.addEventListener("error", (event) => say(event.message || "the worker could not be started; this page needs a server", true));
}

function ask(call, ...given) {
  return new Promise((done, failed) => {
    questions.set(++last, {done, failed});
    worker.postMessage({id: last, call, arguments: given, files: call === "generate" ? null : current(), specs});
  });
}

function current() {
  if (files.length) return files;
  current.text ??= {};
  const text = held ?? $("text").value;
  if (current.text.of !== text) current.text = {of: text, files: [{name: PASTED, data: new Blob([text])}]};
  return current.text.files;
}

function stop() {
  worker.terminate();
  questions.forEach(({failed}) => failed(new Error("stopped")));
  questions = new Map();
  turn++;
  startWorker();
}

// What is said above the result.

function say(text, isBad = false) {
  clearInterval(clock);
  $("status").classList.toggle("bad", isBad);
  $("bar").hidden = true;
  $("said").textContent = text;
  $("stop").hidden = true;
}

function progress(loaded, of) {
  $("bar").hidden = false;
  $("bar").value = loaded / of;
  const mb = (bytes) => (bytes / 1e6).toFixed(1);
  $("said").textContent = loaded < of ? `Loading Python: ${mb(loaded)} of ${mb(of)} MB` : "Starting Python";
}

function started() {
  document.documentElement.dataset.started = (performance.now() / 1000).toFixed(2);
  if (questions.size === 0) say("Ready: paste or drop something.");
  ask("forms", packages).then(listForms);
}

function working(what) {
  since = performance.now();
  clearInterval(clock);
  $("stop").hidden = false;
  $("status").classList.remove("bad");
  clock = setInterval(() => {
    if ($("bar").hidden) $("said").textContent = `${what}: ${((performance.now() - since) / 1000).toFixed(0)} s`;
  }, 500);
}

function listForms(names) {
  $("forms").replaceChildren(...names.map((name) => Object.assign(document.createElement("option"), {value: name})));
}

// From what is given to a command, and to what it says.

async function show() {
  const mine = ++turn;
  const view = files.reduce((sum, {data}) => sum + data.size, 0) > MOST_PAGE ? "text" : "page";
  const names = files.length ? tops(files) : [PASTED];
  if (!files.length && !(held ?? $("text").value).trim()) return say("Nothing is there yet: paste or drop something.");
  working("Reading");
  try {
    const {words, note} = await ask("chosen", names, $("form").value.trim(), packages);
    if (mine === turn) await print({words, note, view, isFrame: false});
  } catch (error) {
    if (mine === turn) fail(error);
  }
}

function fail(error) {
  say(error.message, true);
  document.documentElement.dataset.shown = `${turn}:error`;
}

async function print(wanted) {
  const mine = turn;
  working("Reading");
  const said = await ask("run", wanted.words, wanted.view);
  if (mine !== turn) return;
  if (wanted.view === "page" && !said.page) wanted = {...wanted, view: "text"};  // an error in the command line
  shown = wanted;
  $("result").hidden = false;
  $("command").textContent = commandLine(wanted.words);
  for (const tab of document.querySelectorAll("[data-view]")) {
    tab.setAttribute("aria-selected", String(tab.dataset.view === wanted.view));
  }
  const notes = [said.err.trimEnd(), wanted.note, said.cut ? "This is the beginning; the command itself shows all." : ""];
  $("notes").textContent = notes.filter(Boolean).join("\n");
  $("notes").hidden = !$("notes").textContent;
  $("notes").classList.toggle("bad", said.status !== 0);
  $("page").hidden = wanted.view !== "page";
  $("out").hidden = wanted.view === "page" || !said.out;
  $("page").srcdoc = wanted.view === "page" ? said.page : "";
  $("out").textContent = said.out;
  $("save").hidden = !(said.page || said.out);
  $("save").onclick = () => save(said, wanted.view);
  $("back").hidden = !wanted.isFrame;
  say(`${said.status === 0 ? "Read" : `Exit status ${said.status}`}, in ${((performance.now() - since) / 1000).toFixed(1)} s.`);
  document.documentElement.dataset.shown = `${mine}:${wanted.view}`;
  await offerLink(wanted, mine);
}

async function offerLink(wanted, mine) {
  $("link").hidden = true;
  if (wanted.words[0] !== "inspect") return;
  const {hex, form} = await ask("link_of", wanted.words);
  if (mine !== turn || !hex || hex.length > MOST_LINK) return;
  const link = `#hex=${hex}${form ? `&as=${form}` : ""}`;
  if (!wanted.isFrame && !files.length) history.replaceState(null, "", link);
  $("link").hidden = false;
  $("link").onclick = async () => {
    const whole = new URL(link, location.href).href;
    try { await navigator.clipboard.writeText(whole); $("link").textContent = "Copied"; } catch { location.hash = link; }
    setTimeout(() => { $("link").textContent = "Copy link"; }, 1500);
  };
}

function commandLine(words) {
  return ["kipwire", ...words.map((word) => (/^[\w.\/:+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))].join(" ");
}

function save({page, out}, view) {
  const [data, name] = view === "page" ? [page, "kipwire.html"] : [out, view === "json" ? "kipwire.json" : "kipwire.txt"];
  const link = Object.assign(document.createElement("a"), {href: URL.createObjectURL(new Blob([data])), download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// Files.

const tops = (given) => [...new Set(given.map(({name}) => name.split("/")[0]))];

async function take(given) {
  if (!given.length) return;
  const isSpecs = given.every(({name}) => name.endsWith(".json")) && !given.some(({name}) => /index\.jsonl?$/.test(name));
  if (isSpecs) return takeSpecs(given);
  files = given;
  held = null;
  $("text").value = "";
  $("text").placeholder = `${tops(given).join(", ")}: ${given.reduce((sum, one) => sum + one.data.size, 0).toLocaleString("en")} bytes`;
  $("form").value = "";
  await show();
}

async function takeSpecs(given) {
  const mine = ++turn;
  specs = given;
  working("Checking specs");
  try {
    const said = await ask("generate");
    if (mine !== turn) return;
    packages = said.package ? [said.package] : [];
    const names = Object.keys(said.classes);
    $("result").hidden = false;
    $("command").textContent = "kipgen check";
    $("notes").hidden = $("page").hidden = $("back").hidden = $("link").hidden = true;
    $("page").hidden = true;
    $("out").hidden = false;
    $("out").textContent = `${said.out}${said.err}`;
    $("classes").hidden = !names.length;
    $("class").replaceChildren(...names.map((name) => new Option(name)));
    const read = () => { $("source").textContent = said.classes[$("class").value] ?? ""; };
    $("class").onchange = read;
    read();
    if (names.length) listForms(await ask("forms", packages));
    say(names.length ? "Your specs are read: paste bytes, and choose the message. Load the page again for Kafka's." : "The specs have problems.", !names.length);
    document.documentElement.dataset.shown = `${mine}:specs`;
  } catch (error) {
    specs = [];
    if (mine === turn) fail(error);
  }
}

async function entriesOf(entry, path = "") {
  if (entry.isFile) {
    const file = await new Promise((done, failed) => entry.file(done, failed));
    return [{name: path + entry.name, data: file}];
  }
  const reader = entry.createReader(), found = [];
  for (;;) {
    const some = await new Promise((done, failed) => reader.readEntries(done, failed));
    if (!some.length) return found;
    for (const one of some) found.push(...await entriesOf(one, `${path}${entry.name}/`));
  }
}

// What people do.

function takeText(text, form = "") {
  files = [];
  $("text").placeholder = "";
  held = text.length > MOST_TEXT ? text : null;
  $("text").value = held === null ? text : `${text.slice(0, 2000)}\n... ${text.length.toLocaleString("en")} characters`;
  $("form").value = form;
  show();
}

function takeLink() {
  const given = new URLSearchParams(location.hash.slice(1));
  if (given.get("hex")) takeText(given.get("hex"), given.get("as") ?? "");
}

$("given").addEventListener("submit", (event) => { event.preventDefault(); show(); });
$("text").addEventListener("input", () => { files = []; held = null; });
$("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) show();
});
$("text").addEventListener("paste", (event) => {
  const data = event.clipboardData;
  if (data?.files.length) {
    event.preventDefault();
    return take([...data.files].map((file) => ({name: file.name, data: file})));
  }
  const text = data?.getData("text/plain") ?? "";
  if (text.length > MOST_TEXT || !$("text").value) {
    event.preventDefault();
    takeText(text, $("form").value);
  }
});
$("form").addEventListener("change", () => { if (files.length || $("text").value) show(); });
$("open").addEventListener("click", () => $("files").click());
$("files").addEventListener("change", () => {
  const given = [...$("files").files].map((file) => ({name: file.name, data: file}));
  $("files").value = "";
  take(given);
});
$("stop").addEventListener("click", stop);
$("back").addEventListener("click", () => { turn++; print({...shown.from, isFrame: false}).catch(fail); });
for (const tab of document.querySelectorAll("[data-view]")) {
  tab.addEventListener("click", () => {
    if (!shown) return;
    turn++;
    print({...shown, view: tab.dataset.view}).catch(fail);
  });
}
for (const sample of document.querySelectorAll("[data-sample]")) {
  sample.addEventListener("click", async () => {
    const name = sample.dataset.sample;
    if (name in SAMPLES) return takeText(SAMPLES[name].hex, SAMPLES[name].form);
    const response = await fetch(`samples/${name}`);
    take([{name, data: await response.blob()}]);
  });
}
addEventListener("message", ({source, data}) => {  // a page of a capture asks for the bytes of a frame
  if (source !== $("page").contentWindow || !Number.isInteger(data?.frame) || shown?.words[0] !== "tap") return;
  turn++;
  print({words: ["inspect", shown.words[1], "--frame", String(data.frame)], note: "", view: "page", isFrame: true, from: shown})
    .catch(fail);
});
for (const kind of ["dragenter", "dragover"]) {
  addEventListener(kind, (event) => { event.preventDefault(); document.body.classList.add("over"); });
}
addEventListener("dragleave", (event) => { if (!event.relatedTarget) document.body.classList.remove("over"); });
addEventListener("drop", async (event) => {
  event.preventDefault();
  document.body.classList.remove("over");
  const items = [...event.dataTransfer.items].filter((item) => item.kind === "file").map((item) => item.webkitGetAsEntry());
  if (!items.length) return takeText(event.dataTransfer.getData("text/plain"));
  const found = [];
  for (const item of items) if (item) found.push(...await entriesOf(item));
  take(found);
});
addEventListener("hashchange", takeLink);

startWorker();
takeLink();
