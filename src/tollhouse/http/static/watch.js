// Loads a page again when what it waits for has happened: `data-watch` says what it shows, and is looked up in the page anew.
// Every 2 s; slower after a minute; not while nobody looks, and never over a form that somebody fills in. Without this script
// there is the link "Refresh".

const SOON_MS = 2_000;
const SLOWEST_MS = 30_000;
const PATIENT_AFTER_MS = 60_000;

const watched = document.querySelector("[data-watch]");
const since = Date.now();
let pause = SOON_MS;
let timer = 0;
let isTyping = false;

async function look() {
  clearTimeout(timer);
  if (document.hidden || isTyping) return;
  try {
    const answer = await fetch(location.href, { cache: "no-store", redirect: "error" });
    if (answer.ok) {
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const now = page.querySelector("[data-watch]");
      if (!isTyping && now?.dataset.watch !== watched.dataset.watch) return location.reload();
    }
  } catch {
    // The line is broken: the next look may find it mended.
  }
  if (Date.now() - since > PATIENT_AFTER_MS) pause = Math.min(pause * 2, SLOWEST_MS);
  timer = setTimeout(look, pause);
}

if (watched) {
  document.addEventListener("input", (event) => (isTyping ||= event.target.closest("form[method=post]") !== null));
  document.addEventListener("visibilitychange", look);
  timer = setTimeout(look, SOON_MS);
}
