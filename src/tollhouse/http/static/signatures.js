// Verifies the signatures of an event in the browser: the secret is sent nowhere, and kept nowhere but in its field.

const TOLERANCE_S = 300;
const form = document.querySelector("[data-verifier]");
const result = form.querySelector("[data-result]");
const encoder = new TextEncoder();
const value = (name) => form.elements[name].value.trim();

async function hmac(key, text) {
  const imported = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", imported, encoder.encode(text)));
}

function decoded(secret) {
  try {
    return Uint8Array.from(atob(secret.replace(/^whsec_/, "")), (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}

const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const base64 = (bytes) => btoa(String.fromCharCode(...bytes));

// A message of the page for each signature that was entered. Fields of a form turn line feeds into CR LF only when they are sent.
async function* verdicts() {
  const [secret, body] = [value("secret"), form.elements.body.value];
  if (!crypto.subtle) return yield "insecure";
  if (!value("signature") && !value("standard")) return yield "nothing";
  if (value("signature")) {
    yield hex(await hmac(encoder.encode(secret), body)) === value("signature").toLowerCase() ? "valid" : "invalid";
  }
  if (value("standard")) {
    const key = decoded(secret);
    if (!key) return yield "secret";
    const expected = `v1,${base64(await hmac(key, `${value("id")}.${value("timestamp")}.${body}`))}`;
    const isOld = Math.abs(Date.now() / 1_000 - Number(value("timestamp"))) > TOLERANCE_S;
    yield value("standard").split(/\s+/).includes(expected) ? (isOld ? "old" : "valid") : "invalid";
  }
}

const TONES = { valid: "ok", old: "warn" };

async function verify() {
  const lines = [];
  for await (const verdict of verdicts()) {
    const line = document.createElement("p");
    line.className = `banner ${TONES[verdict] ?? "bad"}`;
    line.textContent = form.dataset[verdict];
    lines.push(line);
  }
  result.replaceChildren(...lines);
}

form.hidden = false;
form.addEventListener("submit", (event) => {
  event.preventDefault();
  verify();
});
