// Asks before the page of a form with changed values is left, and marks the form, whose bar then says so.
// `data-unsaved="yes"` from the server: it shows what was sent and not saved. Without this script nothing is asked.

const forms = new Map([...document.querySelectorAll("form[data-unsaved]")].map((form) => [form, loaded(form)]));
let leaves = false;

function values(form) {
  const pairs = [...new FormData(form)].map(([name, value]) => [name, value.name ?? value]);
  return JSON.stringify(pairs);
}

function loaded(form) {
  return form.dataset.unsaved === "yes" ? null : values(form);
}

function mark(form) {
  form.dataset.unsaved = values(form) === forms.get(form) ? "no" : "yes";
}

for (const form of forms.keys()) {
  mark(form);
  form.addEventListener("input", () => mark(form));
  form.addEventListener("submit", () => (leaves = true));
  form.querySelector("[data-discard]")?.addEventListener("click", () => (leaves = true));
}
window.addEventListener("pageshow", () => (leaves = false));
window.addEventListener("beforeunload", (event) => {
  if (!leaves && [...forms.keys()].some((form) => form.dataset.unsaved === "yes")) event.preventDefault();
});
