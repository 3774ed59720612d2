// Searches the rows of the page that is shown. Without this script the search field is not there at all.

for (const part of document.querySelectorAll("[data-filter]")) {
  const rows = [...document.querySelectorAll(`${part.dataset.filter} > tr`)];
  const status = part.querySelector("[role=status]");
  const field = part.querySelector("input");

  function search() {
    const wanted = field.value.trim().toLowerCase();
    let found = 0;
    for (const row of rows) {
      row.hidden = !row.textContent.toLowerCase().includes(wanted);
      found += row.hidden ? 0 : 1;
    }
    status.textContent = wanted && part.dataset.found.replace("{n}", found).replace("{all}", rows.length);
  }

  field.addEventListener("input", search);
  part.hidden = false;
}
