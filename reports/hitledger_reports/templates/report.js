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
    });
  }
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
