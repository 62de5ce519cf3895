// A search field and sorting for each table, over all rows that the page has.
"use strict";

const AT_ONCE = 50;

for (const section of document.querySelectorAll("section[data-rows]")) {
  const all = JSON.parse(section.querySelector("script").textContent);
  const body = section.querySelector("tbody");
  const heads = [...section.querySelectorAll("th")];
  const count = section.querySelector(".count");
  const more = section.querySelector(".more");
  const field = section.querySelector("input");
  const isNumber = heads.map((head) => head.classList.contains("number"));
  const found = all.map((row) => row.join("\n").toLowerCase());
  let order = all.map((_, index) => index);
  let limit = AT_ONCE;

  const draw = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const matching = order.filter((index) => words.every((word) => found[index].includes(word)));
    body.replaceChildren(...matching.slice(0, limit).map((index) => rowOf(all[index], isNumber)));
    const of = words.length ? ` of ${all.length.toLocaleString("en")}` : "";
    count.textContent = `${matching.length.toLocaleString("en")}${of} rows`;
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
  field.addEventListener("input", () => { limit = AT_ONCE; draw(); });
  more.addEventListener("click", () => { limit += 10 * AT_ONCE; draw(); });
  section.querySelector(".tools").hidden = false;
  draw();
}

function rowOf(cells, isNumber) {
  const row = document.createElement("tr");
  cells.forEach((text, column) => {
    const cell = row.insertCell();
    cell.textContent = text;
    if (text.length > LONG) cell.className = "long";
    else if (isNumber[column]) cell.className = "number";
  });
  return row;
}
