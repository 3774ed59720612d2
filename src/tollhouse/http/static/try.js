// Sends what the form says to our own API, with the test key that was typed and without cookies, and shows the answer.
// The key is kept nowhere but in its field: choosing another operation replaces only the part of the form below it.

const choice = document.querySelector("form[data-choice]");
const form = document.querySelector("form[data-send]");
const key = document.querySelector("#key");
const part = () => form.querySelector("#trial");

// Without HTTPS there is no randomUUID.
function fresh() {
  return Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function prepare() {
  const own = part().querySelector("[data-fresh]");
  if (own) own.value = fresh();
}

function address(trial) {
  const query = new URLSearchParams();
  let path = trial.dataset.path;
  for (const { dataset, value } of trial.querySelectorAll("[data-place]")) {
    if (dataset.place === "path") path = path.replace(`{${dataset.name}}`, encodeURIComponent(value));
    else if (value) query.set(dataset.name, value);
  }
  return query.size ? `${path}?${query}` : path;
}

function show(trial, status, text) {
  const shown = trial.querySelector("pre");
  trial.querySelector("[data-said]").textContent = status;
  shown.textContent = text;
  shown.closest("[data-answer]").hidden = !text;
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

async function send(trial) {
  const headers = { "X-API-Key": key.value.trim() };
  const [own, body] = [trial.querySelector("[data-fresh]"), trial.querySelector("#body")];
  if (own?.value) headers["Idempotency-Key"] = own.value;
  if (body) headers["Content-Type"] = "application/json";
  show(trial, "…", "");
  const answer = await fetch(address(trial), { method: trial.dataset.method, headers, body: body?.value, credentials: "omit" });
  show(trial, `${answer.status} ${answer.statusText} · ${answer.headers.get("X-Request-Id") ?? ""}`, pretty(await answer.text()));
}

async function choose(address) {
  const answer = await fetch(address, { credentials: "omit" });
  if (!answer.ok) return location.assign(address);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  part().replaceWith(page.querySelector("#trial"));
  history.replaceState(null, "", address);
  prepare();
}

form.hidden = false;
prepare();
choice.addEventListener("submit", (event) => {
  event.preventDefault();
  choose(`${choice.getAttribute("action")}?${new URLSearchParams(new FormData(choice))}`);
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  const trial = part();
  send(trial).catch((fault) => show(trial, String(fault), ""));
});
