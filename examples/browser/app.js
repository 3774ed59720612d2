// A public application in the browser: it connects with PKCE, keeps tokens in memory only, and lists payments.

import { CallbackError, Connection, ConnectionEndedError, MemoryTokenStorage, OAuthApplication, Tollhouse } from "./tollhouse-sdk.js";
import { baseUrl, clientId, mode } from "./config.js";

const PENDING = "pending-authorization";
const redirectUri = location.origin + location.pathname;
const application = new OAuthApplication({ baseUrl, clientId, redirectUri });
const element = (id) => document.getElementById(id);

function show(message, isConnected) {
  element("message").textContent = message;
  element("connect").hidden = isConnected;
  element("connected").hidden = !isConnected;
}

/** State and verifier survive the way to the service and back, in this tab only. */
async function connect() {
  const { url, pending } = await application.authorize({ scopes: ["account:read", "payments:read"], mode });
  sessionStorage.setItem(PENDING, JSON.stringify(pending));
  location.assign(url);
}

/** The tokens for the callback, if this is one. The code leaves the address bar before anything else happens. */
async function callbackTokens() {
  const url = location.href;
  const stored = sessionStorage.getItem(PENDING);
  sessionStorage.removeItem(PENDING);
  history.replaceState(null, "", redirectUri);
  if (stored === null || !new URL(url).searchParams.has("state")) {
    return null;
  }
  return application.callback(url, JSON.parse(stored));
}

async function list(connection) {
  const tollhouse = new Tollhouse({ baseUrl, connection });
  const account = await tollhouse.account.get();
  element("account").textContent = account.business_name;
  const { transactions } = await tollhouse.transactions.list({ limit: 20 });
  element("payments").replaceChildren(
    ...transactions.map((payment) => {
      const item = document.createElement("li");
      item.textContent = `${payment.amount} ${payment.currency}: ${payment.status}`;
      return item;
    }),
  );
}

function explained(error) {
  if (error instanceof CallbackError && error.code === "access_denied") {
    return "You did not allow the connection.";
  }
  if (error instanceof ConnectionEndedError) {
    return "The connection ended. Connect again.";
  }
  return error.message;
}

async function start() {
  element("connect").addEventListener("click", connect);
  const tokens = await callbackTokens();
  if (tokens === null) {
    show("Connect to see your payments.", false);
    return;
  }
  const connection = new Connection(application, new MemoryTokenStorage(tokens));
  element("disconnect").addEventListener("click", async () => {
    await connection.disconnect();
    show("Disconnected.", false);
  });
  await list(connection);
  show("Connected.", true);
}

start().catch((error) => show(explained(error), false));
