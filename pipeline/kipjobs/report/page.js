// A search field, a switch for errors and sorting for each table, over all rows that the page has.
"use strict";

const AT_ONCE = matchMedia("(max-width: 600px)").matches ? 10 : 50; // on a telephone each row is a card

for (const section of document.querySelectorAll("section[data-rows]")) {
  const all = JSON.parse(section.querySelector("script").textContent);
  const body = section.querySelector("tbody");
  const heads = [...section.querySelectorAll("th")];
  const count = section.querySelector(".count");
  const more = section.querySelector(".more");
  const field = section.querySelector("input[type=search]");
  const errors = section.querySelector("input[type=checkbox]");
  const flag = Number(section.dataset.flag);
  const kinds = heads.map((head) => head.className);
  const labels = heads.map((head) => head.textContent);
  const isNumber = kinds.map((kind) => kind === "number");
  const found = all.map((row) => row.join("\n").toLowerCase());
  let order = all.map((_, index) => index);
  let limit = AT_ONCE;

  const draw = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const isChosen = (index) => !errors?.checked || !["", "0"].includes(all[index][flag]);
    const matching = order.filter((index) => isChosen(index) && words.every((word) => found[index].includes(word)));
    body.replaceChildren(...matching.slice(0, limit).map((index) => rowOf(all[index], kinds, labels)));
    const of = words.length || errors?.checked ? ` of ${all.length.toLocaleString("en")}` : "";
    const word = (of ? all : matching).length === 1 ? "row" : "rows";
    count.textContent = `${matching.length.toLocaleString("en")}${of} ${word}`;
    more.hidden = matching.length <= limit;
  };

  const sortBy = (column) => {
    const descends = heads[column].ariaSort ? heads[column].ariaSort === "ascending" : isNumber[column];
    const sign = descends ? -1 : 1;
    const key = (index) => (isNumber[column] ? Number(all[index][column].replaceAll(",", "")) : all[index][column]);
    order = all.map((_, index) => index).sort((a, b) => {
      const [one, other] = [all[a][column], all[b][column]];
      if (one === "" || other === "") return (one === "") - (other === "") || a - b; // blank cells come last
      const [x, y] = [key(a), key(b)];
      return x === y ? a - b : sign * (x < y ? -1 : 1);
    });
    heads.forEach((head) => head.removeAttribute("aria-sort"));
    heads[column].ariaSort = descends ? "descending" : "ascending";
    draw();
  };

  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    button.addEventListener("click", () => sortBy(column));
    head.replaceChildren(button);
  });
  for (const input of [field, errors]) input?.addEventListener("input", () => { limit = AT_ONCE; draw(); });
  more.addEventListener("click", () => { limit += 10 * AT_ONCE; draw(); });
  section.querySelector(".tools").hidden = false;
  draw();
}

function rowOf(cells, kinds, labels) {
  const row = document.createElement("tr");
  cells.forEach((text, column) => {
    const cell = row.insertCell();
    cell.textContent = text;
    cell.className = kinds[column];
    cell.dataset.label = labels[column];
  });
  return row;
}
