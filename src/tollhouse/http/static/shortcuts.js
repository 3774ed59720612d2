// Keys: `g` and a letter go to a page, `?` lists them all. `/` goes to the search of the top bar; where there is none, to the
// first field of the search or filter of the page, else to the page of the search.
// Who switches them off in the foot does not get this script. In a field every key is only a letter.

const WAITS_MS = 1_500;
const list = document.querySelector("#shortcuts");
const openers = document.querySelectorAll("[data-shortcuts]");
let begun = 0;

function row(name, keys) {
  const line = document.createElement("div");
  const term = document.createElement("dt");
  const said = document.createElement("dd");
  term.textContent = name;
  for (const key of keys) {
    const mark = document.createElement("kbd");
    mark.textContent = key;
    said.append(mark, " ");
  }
  line.append(term, said);
  return line;
}

const pages = new Map([...document.querySelectorAll(".side a[data-key]")].map((link) => [link.dataset.key, link]));
list.querySelector("dl").prepend(...[...pages].map(([key, link]) => row(link.textContent, ["g", key])));

function toSearch() {
  const bar = document.querySelector(".top [role=search] input");
  const ofPage = document.querySelector("main [role=search] :is(input:not([type=hidden]), select), main input[type=search]");
  const field = bar?.checkVisibility() ? bar : ofPage;
  if (!field) {
    const link = document.querySelector("[data-search]");
    link?.click();
    return Boolean(link);
  }
  const folded = field.closest("details");
  if (folded) folded.open = true;
  field.focus();
  return true;
}

function act(key) {
  const goes = Date.now() - begun < WAITS_MS;
  begun = 0;
  if (goes && pages.has(key)) {
    pages.get(key).click();
    return true;
  }
  if (key === "g") begun = Date.now();
  if (key === "?") list.showModal();
  return key === "?" || (key === "/" && toSearch());
}

document.addEventListener("keydown", (event) => {
  const elsewhere = event.target.closest?.("input, textarea, select, [contenteditable]") || document.querySelector("dialog[open]");
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented || elsewhere) return;
  if (act(event.key)) event.preventDefault();
});
for (const opener of openers) {
  opener.addEventListener("click", () => list.showModal());
  opener.hidden = false;
}
