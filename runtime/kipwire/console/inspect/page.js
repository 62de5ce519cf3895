"use strict";
const bytes = [], rowOf = [];
for (const run of document.querySelectorAll("[data-p]")) (bytes[run.dataset.p] ??= []).push(run);
const rows = [...document.querySelectorAll("tr[data-f]")];
for (const row of rows) if (row.dataset.f === row.dataset.l && !row.matches(".part, .struct")) rowOf[row.dataset.f] = row;
const abouts = document.querySelectorAll("#abouts li"), footer = document.querySelector("footer");
let lit = [], pinned = null, shown = null;

function show(row, from) {
  if (row === shown) return;
  shown = row;
  for (const element of lit) element.classList.remove("on");
  lit = [];
  if (!row) return;
  lit.push(row);
  for (let piece = +row.dataset.f; piece <= +row.dataset.l; piece++) lit.push(...(bytes[piece] ?? []));
  for (const element of lit) element.classList.add("on");
  if (from !== "dump" && lit.length > 1) lit[1].scrollIntoView({block: "nearest"});
  if (from !== "table") row.scrollIntoView({block: "nearest"});
  explain(row);
}

function explain(row) {
  const {path, at, n, a} = row.dataset, [, , type, value] = [...row.cells].map((cell) => cell.textContent);
  const name = document.createElement("b"), about = document.createElement("p");
  name.textContent = path;
  about.textContent = a === undefined ? "" : abouts[a].textContent;
  const where = n === "0" ? "no bytes" : n === "1" ? `byte ${at}` : `${n} bytes, ${at} to ${+at + +n - 1}`;
  footer.replaceChildren(name, [type, where, value].filter(Boolean).join(" \u00b7 "), about);
}

function target(event) {
  const run = event.target.closest("[data-p]"), row = event.target.closest("tr[data-f]");
  return run ? [rowOf[run.dataset.p], "dump"] : row ? [row, "table"] : [null, ""];
}

for (const pane of document.querySelectorAll("section")) {
  pane.addEventListener("mouseover", (event) => {
    const [row, from] = target(event);
    if (row) show(row, from);
  });
  pane.addEventListener("mouseleave", () => show(pinned));
  pane.addEventListener("click", (event) => {
    const [row, from] = target(event);
    pinned = row === pinned ? null : row;
    show(row, from);
  });
}
document.querySelector(".error button")?.addEventListener("click", () => show(pinned = rows.at(-1)));
document.addEventListener("keydown", (event) => {
  const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
  if (event.key === "Escape") show(pinned = null);
  if (!step || event.altKey || event.ctrlKey || event.metaKey) return;
  const next = rows[pinned ? rows.indexOf(pinned) + step : 0];
  if (next) show(pinned = next);
  event.preventDefault();
});
