// Uses a passkey for the form around a [data-passkey], whose value are the options of the ceremony: a button, and on a page of
// sign-in also the browser's suggestions in the field of the email address. Without this script the rest of the form works.

const FRESH_FOR_MS = 240_000;
const BY_USER = ["AbortError", "NotAllowedError"];
const parts = [...document.querySelectorAll("[data-passkey]")];
const supported = typeof window.PublicKeyCredential?.parseRequestOptionsFromJSON === "function";
let read = performance.now();
let waiting = new AbortController();

// A challenge expires: a page that can be loaded again has a new one.
async function optionsOf(part) {
  if ("fresh" in part.dataset && performance.now() - read > FRESH_FOR_MS) {
    const answer = await fetch(location.href, { redirect: "error" });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    part.dataset.passkey = page.querySelector("[data-passkey]")?.dataset.passkey ?? part.dataset.passkey;
    read = performance.now();
  }
  return JSON.parse(part.dataset.passkey);
}

async function ask(part, mediation) {
  waiting.abort();
  waiting = new AbortController();
  const { signal } = waiting;
  const options = await optionsOf(part);
  if ("creates" in part.dataset) {
    return navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options), signal });
  }
  return navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options), signal, mediation });
}

function send(part, credential) {
  const form = part.closest("form");
  part.querySelector("input").value = JSON.stringify(credential);
  form.noValidate = true;
  form.requestSubmit();
}

function show(part, error) {
  const { failed, exists, elsewhere } = part.dataset;
  const message = part.querySelector("[role=alert]");
  message.textContent = { InvalidStateError: exists, SecurityError: elsewhere }[error.name] ?? failed;
  message.hidden = false;
}

async function use(part) {
  const form = part.closest("form");
  if ("creates" in part.dataset && !form.reportValidity()) return;
  part.querySelector("[role=alert]").hidden = true;
  try {
    send(part, await ask(part));
  } catch (error) {
    show(part, error);
    suggest();
  }
}

// The browser suggests passkeys where the email address is typed, until one is chosen or the button is pressed.
async function suggest() {
  const part = parts.find(({ dataset }) => "suggests" in dataset);
  if (!part || !(await PublicKeyCredential.isConditionalMediationAvailable?.())) return;
  const renewal = setTimeout(suggest, FRESH_FOR_MS + 1_000);
  try {
    send(part, await ask(part, "conditional"));
  } catch (error) {
    if (!BY_USER.includes(error.name)) clearTimeout(renewal);
  }
}

if (supported) {
  for (const part of parts) {
    part.hidden = false;
    part.querySelector("button").addEventListener("click", () => use(part));
  }
  for (const note of document.querySelectorAll("[data-without-passkeys]")) note.hidden = true;
  suggest();
}
