// Walks the authorization code flow with PKCE in the browser, and shows each request. What must be kept while the merchant is on
// the consent page, state and code verifier, is in the storage of this tab; client secret and tokens are only in this page.

const root = document.querySelector("[data-debugger]");
const { client, confidential, callback, issuer, matches, differs, hidden } = root.dataset;
const find = (name) => root.querySelector(`[data-${name}]`);
const kept = `oauth-debugger-${client}`;
const [TOKEN, REVOCATION, ACCOUNT] = ["/api/v2/oauth/token", "/api/v2/oauth/revoke", "/api/v2/integration/account"];
let tokens = {};

const toBase64Url = (bytes) =>
  btoa(String.fromCharCode(...new Uint8Array(bytes))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const random = () => toBase64Url(crypto.getRandomValues(new Uint8Array(32)));
const attempt = { state: random(), verifier: random() };

async function authorizationRequest() {
  const challenge = toBase64Url(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(attempt.verifier)));
  const scope = Array.from(root.querySelectorAll("[data-scope]:checked"), (box) => box.value).join(" ");
  const query = { response_type: "code", client_id: client, redirect_uri: callback, scope, state: attempt.state };
  return `${issuer}/api/v2/oauth/authorize?${new URLSearchParams({ ...query, code_challenge: challenge, code_challenge_method: "S256", mode: "test" })}`;
}

async function prepare() {
  find("authorization").textContent = (await authorizationRequest()).replace("?", "?\n  ").replaceAll("&", "\n  &");
}

// A public application names itself in the body; a confidential one authenticates by its secret, which is not shown.
async function send(where, method, path, headers, body) {
  const shown = root.querySelector(`[data-exchange="${where}"]`);
  const secret = document.querySelector("#client-secret")?.value.trim();
  const sent = { ...headers };
  if (body && confidential) sent.Authorization = `Basic ${btoa(`${client}:${secret}`)}`;
  if (body && !confidential) body.client_id = client;
  const lines = Object.entries(sent).map(([name, text]) => `${name}: ${name === "Authorization" ? `${text.split(" ")[0]} (${hidden})` : text}`);
  const encoded = body && String(new URLSearchParams(body));
  if (body) lines.push("Content-Type: application/x-www-form-urlencoded");
  shown.hidden = false;
  shown.querySelector("[data-request]").textContent = [`${method} ${path}`, `Host: ${new URL(issuer).host}`, ...lines, ...(body ? ["", encoded.replaceAll("&", "\n&")] : [])].join("\n");
  if (body) sent["Content-Type"] = "application/x-www-form-urlencoded";
  const answer = await fetch(issuer + path, { method, headers: sent, body: encoded, credentials: "omit" });
  const text = await answer.text();
  let read = null;
  try {
    read = JSON.parse(text);
  } catch {}
  const response = shown.querySelector("[data-response]");
  response.textContent = `HTTP ${answer.status} ${answer.statusText}\n\n${read ? JSON.stringify(read, null, 2) : text}`.trim();
  response.closest("section").hidden = false;
  return answer.ok ? read : null;
}

function take(received) {
  if (!received?.access_token) return;
  tokens = received;
  find("usable").hidden = false;
  find("refresh").disabled = !received.refresh_token;
}

function comeBack(parameters) {
  const before = JSON.parse(sessionStorage.getItem(kept) ?? "{}");
  sessionStorage.removeItem(kept);
  history.replaceState(null, "", location.pathname);
  const checks = { state: before.state, iss: issuer };
  find("parameters").textContent = Array.from(parameters, ([name, text]) =>
    name in checks ? `${name}=${text} (${text === checks[name] ? matches : differs})` : `${name}=${text}`,
  ).join("\n");
  find("returned").hidden = false;
  const isExpected = parameters.get("state") === before.state && parameters.get("iss") === issuer;
  find("exchangeable").hidden = !(isExpected && parameters.has("code"));
  find("token").addEventListener("submit", (event) => {
    event.preventDefault();
    const body = { grant_type: "authorization_code", code: parameters.get("code"), redirect_uri: callback, code_verifier: before.verifier };
    report(send("token", "POST", TOKEN, {}, body).then(take));
  });
  find("returned").scrollIntoView();
}

function report(work) {
  find("said").textContent = "";
  work.catch((fault) => {
    find("said").textContent = String(fault);
  });
}

root.hidden = false;
root.addEventListener("change", () => report(prepare()));
find("go").addEventListener("click", async () => {
  sessionStorage.setItem(kept, JSON.stringify(attempt));
  location.assign(await authorizationRequest());
});
find("call").addEventListener("click", () => report(send("use", "GET", ACCOUNT, { Authorization: `Bearer ${tokens.access_token}` })));
find("refresh").addEventListener("click", () => report(send("use", "POST", TOKEN, {}, { grant_type: "refresh_token", refresh_token: tokens.refresh_token }).then(take)));
find("revoke").addEventListener("click", () => report(send("use", "POST", REVOCATION, {}, { token: tokens.refresh_token ?? tokens.access_token })));
report(prepare());
const parameters = new URLSearchParams(location.search);
if (parameters.has("state")) comeBack(parameters);
