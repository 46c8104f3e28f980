"use strict";
(() => {
  // A cell's number for sorting stands in data-v; text sorts as text; unknown goes last either way.
  const value = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.v === undefined ? cell.textContent.trim() : cell.dataset.v;
  };
  const compare = (left, right, numeric) => {
    if (left === "" || right === "") return (left === "") - (right === "");
    return numeric ? Number(left) - Number(right) : left.localeCompare(right, "en");
  };
  const sort = (table, column, header) => {
    const down = header.getAttribute("aria-sort") !== "descending" && header.classList.contains("n")
      || header.getAttribute("aria-sort") === "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", down ? "descending" : "ascending");
    const numeric = header.classList.contains("n");
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row, place) => ({ row, place, key: value(row, column) }));
    rows.sort((a, b) => {
      if (a.key === "" || b.key === "") return compare(a.key, b.key, numeric) || a.place - b.place;
      return (down ? -1 : 1) * compare(a.key, b.key, numeric) || a.place - b.place;
    });
    body.append(...rows.map((item) => item.row));
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    [...table.tHead.rows[0].cells].forEach((header, column) => {
      if (header.dataset.nosort !== undefined) return;
      const button = document.createElement("button");
      button.type = "button";
      button.append(...header.childNodes);
      header.append(button);
      button.addEventListener("click", () => sort(table, column, header));
    });
  }
  for (const input of document.querySelectorAll(".filter input")) {
    const table = document.getElementById(input.getAttribute("aria-controls"));
    input.addEventListener("input", () => {
      const wanted = input.value.toLowerCase();
      for (const row of table.tBodies[0].rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
      table.classList.toggle("open", wanted !== "" || unfolded(table));
    });
  }
  const folds = [...document.querySelectorAll("button.fold")];
  const unfolded = (table) => folds.some((button) =>
    button.getAttribute("aria-controls") === table.id && button.getAttribute("aria-expanded") === "true");
  for (const button of folds) {
    const words = button.textContent;
    button.addEventListener("click", () => {
      const open = button.getAttribute("aria-expanded") !== "true";
      button.setAttribute("aria-expanded", String(open));
      button.textContent = open ? "Show the first 25 rows" : words;
      document.getElementById(button.getAttribute("aria-controls")).classList.toggle("open", open);
    });
  }
  for (const button of document.querySelectorAll("button.calmly")) {
    button.addEventListener("click", () => {
      const folded = document.getElementById(button.getAttribute("aria-controls")).classList.toggle("calmed");
      button.setAttribute("aria-pressed", String(folded));
    });
  }
  // The lane of an agent folds by its heading, where there is more than one.
  for (const table of document.querySelectorAll("table.calls")) {
    for (const header of table.tBodies.length > 1 ? table.querySelectorAll(".lane th") : []) {
      const button = document.createElement("button");
      button.type = "button";
      button.setAttribute("aria-expanded", "true");
      button.append(...header.childNodes);
      header.append(button);
      button.addEventListener("click", () => {
        const shut = header.closest("tbody").classList.toggle("shut");
        button.setAttribute("aria-expanded", String(!shut));
      });
    }
  }
  // Pictures are 1,000 units wide; zooming shows a part of them, around the first difference where there is one.
  const FULL = 1000, LEAST = FULL / 32;
  for (const group of document.querySelectorAll(".zoom")) {
    const page = group.closest(".page");
    const pictures = [...page.querySelectorAll("svg.strip, .prompt svg")];
    const mark = page.querySelector("[data-mark]");
    const tokens = (place) => Math.round(place * Number(group.dataset.tokens) / FULL).toLocaleString("en-US");
    const button = (name) => group.querySelector(`[data-zoom=${name}]`);
    let start = 0, width = FULL;
    const show = (from, wide) => {
      width = Math.min(Math.max(wide, LEAST), FULL);
      start = Math.min(Math.max(from, 0), FULL - width);
      for (const picture of pictures) {
        const height = picture.getAttribute("viewBox").split(" ")[3];
        picture.setAttribute("viewBox", `${start} 0 ${width} ${height}`);
      }
      button("in").disabled = width === LEAST;
      button("out").disabled = width === FULL;
      button("left").disabled = start === 0;
      button("right").disabled = start + width === FULL;
      group.querySelector("output").textContent =
        width === FULL ? "all tokens" : `${tokens(start)} to ${tokens(start + width)}`;
    };
    const around = (wide) => {
      if (!mark) return show(start, wide);  // prompts begin at the left
      const middle = width === FULL ? Number(mark.dataset.mark) : start + width / 2;
      return show(middle - wide / 2, wide);
    };
    button("in").addEventListener("click", () => around(width / 2));
    button("out").addEventListener("click", () => around(width * 2));
    button("left").addEventListener("click", () => show(start - width / 2, width));
    button("right").addEventListener("click", () => show(start + width / 2, width));
  }
  // Up and down go from call to call.
  document.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || !event.target.matches(".calls td:first-child a")) return;
    const links = [...event.target.closest("table").querySelectorAll("td:first-child a")].filter((one) => one.offsetParent);
    const next = links[links.indexOf(event.target) + step];
    if (!next) return;
    event.preventDefault();
    next.focus();
  });
  // Left and right go through the breaks, Escape back to the overview.
  document.addEventListener("keydown", (event) => {
    if (event.target.closest("input, [tabindex='0']") || event.altKey || event.ctrlKey || event.metaKey) return;
    const page = document.querySelector(".page:target");
    if (!page) return;
    if (event.key === "Escape") location.hash = "overview";
    const steps = [...page.querySelectorAll(".steps a")];
    const go = (sign) => steps.find((link) => link.textContent.includes(sign));
    const link = event.key === "ArrowRight" ? go("›") : event.key === "ArrowLeft" ? go("‹") : undefined;
    if (link) location.hash = link.hash;
  });
})();
