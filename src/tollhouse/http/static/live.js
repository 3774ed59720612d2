// Shows what a form costs while it is filled in: asks the page for the values so far, and takes over the parts with `data-part`.
// `data-live` names the fields to ask with. All figures are the server's. Without this script they are on the page of the review.

const WAITS_MS = 300;

const form = document.querySelector("form[data-live]");
const names = form.dataset.live.split(" ");
let timer = 0;
let asked = new AbortController();

async function ask() {
  asked.abort();
  asked = new AbortController();
  const values = new FormData(form);
  const query = new URLSearchParams(names.flatMap((name) => values.getAll(name).filter(Boolean).map((value) => [name, value])));
  try {
    const answer = await fetch(`${location.pathname}?${query}`, { signal: asked.signal, redirect: "error" });
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const part of document.querySelectorAll("[data-part]")) {
      const now = page.querySelector(`[data-part="${part.dataset.part}"]`);
      if (now) part.replaceChildren(...document.importNode(now, true).childNodes);
    }
  } catch {
    // Another value was typed meanwhile, or the line is broken: the next value asks again.
  }
}

function askSoon() {
  clearTimeout(timer);
  timer = setTimeout(ask, WAITS_MS);
}

form.addEventListener("input", askSoon);
form.querySelector("[name=maximum]")?.addEventListener("click", (event) => {
  event.preventDefault();
  const amount = form.elements.amount;
  amount.value = (form.querySelector(":checked[data-maximum]") ?? event.currentTarget).dataset.maximum;
  amount.dispatchEvent(new Event("input", { bubbles: true }));
  amount.focus();
});
