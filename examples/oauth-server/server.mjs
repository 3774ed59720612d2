// A confidential application on a server: merchants connect their account, and see their balances here.

import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { createServer } from "node:http";
import { CallbackError, Connection, ConnectionEndedError, OAuthApplication, Tollhouse, TollhouseError } from "tollhouse-sdk";
import { FileTokenStorage } from "tollhouse-sdk/node";

const { TOLLHOUSE_URL: baseUrl, CLIENT_ID: clientId, CLIENT_SECRET: clientSecret, APP_URL: appUrl, DATA = "data" } = process.env;
const SCOPES = ["account:read", "balances:read", "offline_access"];
const COOKIE = "session";

const application = new OAuthApplication({ baseUrl, clientId, clientSecret, redirectUri: `${appUrl}/callback` });
/** Authorizations that wait for their callback, by session. Each is used once. */
const pending = new Map();
mkdirSync(DATA, { recursive: true, mode: 0o700 });

/** The tokens of a session's connection. The name of the file is checked, since it comes from a cookie. */
function storageOf(session) {
  return new FileTokenStorage(`${DATA}/${session}.json`);
}

function sessionOf(request) {
  const found = new RegExp(`(?:^|; )${COOKIE}=([0-9a-f]{64})(?:;|$)`).exec(request.headers.cookie ?? "");
  return found?.[1];
}

/** A new session for each attempt to connect, so that nobody can choose it for somebody else. */
async function connect() {
  const session = randomBytes(32).toString("hex");
  const { url, pending: started } = await application.authorize({ scopes: SCOPES, mode: process.env.MODE ?? "test" });
  pending.set(session, started);
  setTimeout(() => pending.delete(session), 600_000).unref();
  const secure = appUrl.startsWith("https:") ? "; Secure" : "";
  return redirect(url, { "Set-Cookie": `${COOKIE}=${session}; HttpOnly; SameSite=Lax; Path=/${secure}` });
}

async function callback(request, session) {
  const started = pending.get(session);
  pending.delete(session);
  if (started === undefined) {
    return page(400, "<p>This connection was not started here. <a href='/connect'>Connect again</a>.</p>");
  }
  await storageOf(session).save(await application.callback(request.url, started));
  return redirect("/");
}

async function overview(session) {
  const storage = session && storageOf(session);
  if (!storage || (await storage.load()) === null) {
    return page(200, "<p><a href='/connect'>Connect your account</a></p>");
  }
  const tollhouse = new Tollhouse({ baseUrl, connection: new Connection(application, storage) });
  const account = await tollhouse.account.get();
  const rows = [];
  for await (const balance of tollhouse.balances.list()) {
    rows.push(`<li>${escaped(balance.available)} ${escaped(balance.currency)}</li>`);
  }
  const disconnect = "<form method='post' action='/disconnect'><button>Disconnect</button></form>";
  return page(200, `<h2>${escaped(account.business_name)}</h2><ul>${rows.join("")}</ul>${disconnect}`);
}

async function disconnect(session) {
  if (session) {
    await new Connection(application, storageOf(session)).disconnect();
  }
  return redirect("/");
}

function redirect(location, headers = {}) {
  return { status: 303, headers: { Location: location, ...headers }, body: "" };
}

function page(status, content) {
  const body = `<!doctype html><meta charset="utf-8"><title>Balances</title><h1>Balances</h1>${content}`;
  return { status, headers: { "Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store" }, body };
}

function escaped(text) {
  return String(text).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

async function respond(request) {
  const { pathname } = new URL(request.url, appUrl);
  const session = sessionOf(request);
  try {
    switch (`${request.method} ${pathname}`) {
      case "GET /":
        return await overview(session);
      case "GET /connect":
        return await connect();
      case "GET /callback":
        return await callback(request, session);
      case "POST /disconnect":
        return await disconnect(session);
      default:
        return page(404, "<p>There is no such page.</p>");
    }
  } catch (error) {
    if (error instanceof ConnectionEndedError) {
      return page(200, "<p>The connection ended. <a href='/connect'>Connect again</a>.</p>");
    }
    if (error instanceof CallbackError) {
      return page(400, `<p>${escaped(error.message)} <a href='/connect'>Connect again</a>.</p>`);
    }
    console.error(error);
    return page(error instanceof TollhouseError ? 502 : 500, `<p>${escaped(error.message)}</p><p><a href='/'>Back</a></p>`);
  }
}

const server = createServer(async (request, response) => {
  const { status, headers, body } = await respond(request);
  response.writeHead(status, headers).end(body);
});
server.listen(Number(new URL(appUrl).port || 80), () => console.log(`listening at ${appUrl}`));
