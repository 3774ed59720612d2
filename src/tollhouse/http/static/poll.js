// Asks for the state of a checkout while it waits, and loads the page again when it has changed.
// Every 4 s; slower after five minutes; not at all while nobody looks; at once when somebody looks again.

const SOON_MS = 4_000;
const SLOWEST_MS = 30_000;
const PATIENT_AFTER_MS = 5 * 60_000;

const waiting = document.querySelector("[data-poll]");
const since = Date.now();
let pause = SOON_MS;
let tag = "";
let timer = 0;

async function look() {
  clearTimeout(timer);
  if (document.hidden) return;
  try {
    const answer = await fetch(waiting.dataset.poll, { headers: tag ? { "If-None-Match": tag } : {}, cache: "no-store" });
    if (answer.status === 200) {
      tag = answer.headers.get("ETag") ?? "";
      const { status, amount_received_minor, amount_detected_minor, confirmations, expires_at, redirect_url } = await answer.json();
      if (redirect_url) return location.assign(redirect_url);
      const { state, expires, received, detected } = waiting.dataset;
      const isSameAmount = `${amount_received_minor} ${confirmations ?? 0}` === received && `${amount_detected_minor}` === detected;
      const isShown = status === state && expires_at === expires && isSameAmount;
      if (!isShown) return location.reload();
    } else if (answer.status === 410) {
      return location.reload(); // the link is over
    }
  } catch {
    // The line is broken: the next look may find it mended.
  }
  if (Date.now() - since > PATIENT_AFTER_MS) pause = Math.min(pause * 2, SLOWEST_MS);
  timer = setTimeout(look, pause);
}

if (waiting) {
  document.addEventListener("visibilitychange", look);
  timer = setTimeout(look, SOON_MS);
}
