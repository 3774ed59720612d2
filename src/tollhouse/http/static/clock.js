// Writes times in the time zone of the reader's device, in the language of the page. Without this script they have that of
// the merchant, and its name. Lets the time that is left run down beside the time when something ends, in the last quarter of its life and last day.
// With `data-over`, it is shown from the beginning, and that text in the end; without, the page is loaded again.
// Reckons with the clock of the server, which may be far ahead in a test environment. Nothing reads it out.

const TICK_MS = 1_000;
const DAY_MS = 86_400_000;
const words = document.body.dataset.left ?? "{} left";
const end = document.querySelector("time[data-now]");
const language = document.documentElement.lang === "en" ? "en-GB" : document.documentElement.lang;

function here(at) {
  const year = at.getFullYear() === new Date().getFullYear() ? {} : { year: "numeric" };
  const parts = [
    { weekday: "long" },
    { day: "numeric", month: "long", ...year },
    { hour: "2-digit", minute: "2-digit", hourCycle: "h23" },
  ];
  return parts.map((part) => new Intl.DateTimeFormat(language, part).format(at)).join(", ");
}

for (const time of document.querySelectorAll("time[data-local]")) {
  time.textContent = here(new Date(time.dateTime));
}

function shown(left_ms) {
  const seconds = Math.ceil(left_ms / 1_000);
  const [hours, minutes, rest] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  const two = (number) => String(number).padStart(2, "0");
  return hours ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}

if (end) {
  const ends = Date.parse(end.dateTime);
  const shown_ms = end.dataset.over ? DAY_MS : Math.min((ends - Date.parse(end.dataset.begun)) / 4, DAY_MS);
  const ahead = Date.parse(end.dataset.now) - Date.now();
  const rest = document.createElement("span");
  end.after(rest);
  const ticking = setInterval(tick, TICK_MS);
  function tick() {
    const left = ends - Date.now() - ahead;
    if (left <= 0) {
      clearInterval(ticking);
      if (end.dataset.over) rest.textContent = `: ${end.dataset.over}`;
      else location.reload();
    } else if (left < shown_ms) {
      rest.textContent = `: ${words.replace("{}", shown(left))}`;
    }
  }
  tick();
}
