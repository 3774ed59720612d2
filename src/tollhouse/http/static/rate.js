// Lets the time run down for which an exchange rate is fixed, in figures and as a ring; then loads the page again. Without this
// script the page says until when. Reckons with the clock of the server, which may be far ahead in a test environment.

const TICK_MS = 1_000;
const end = document.querySelector("time[data-rate]");

if (end) {
  const ring = document.querySelector(".ring");
  const [begun, now, ends] = [end.dataset.rate, end.dataset.at, end.dateTime].map((time) => Date.parse(time));
  const ahead = now - Date.now();
  const ticking = setInterval(tick, TICK_MS);
  function tick() {
    const left = ends - Date.now() - ahead;
    if (left <= 0) {
      clearInterval(ticking);
      return location.reload();
    }
    const seconds = Math.ceil(left / 1_000);
    end.textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
    ring.lastElementChild.setAttribute("stroke-dashoffset", String(100 - (100 * left) / (ends - begun)));
  }
  ring.removeAttribute("hidden");
  const label = document.querySelector("[data-in]");
  label.textContent = label.dataset.in;
  tick();
}
