// OAuth: authorizations that are checked, and refreshes that one at a time makes, also after a crash.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import * as sdk from "../dist/index.js";
import { errorBody, serve } from "./server.mjs";

const { CallbackError, Connection, ConnectionEndedError, MemoryTokenStorage, OAuthApplication, Tollhouse } = sdk;
const REDIRECT = "https://app.example/callback?keep=1";
const PAST = { access_token: "a-0", expires_at: 0, scope: "account:read", refresh_token: "r-0" };
const VALID = { ...PAST, expires_at: 8.64e15 };

function application(server, more = {}) {
  const options = { clientId: "thc_1", clientSecret: "s+s", redirectUri: REDIRECT, retryDelayMs: 1 };
  return new OAuthApplication({ baseUrl: `${server.url}/`, ...options, ...more });
}

const fieldsOf = (request) => Object.fromEntries(new URLSearchParams(request.body));
const issued = (number) => ({ access_token: `a-${number}`, token_type: "Bearer", expires_in: 900, scope: "x", refresh_token: `r-${number}` });
const issuing = (_, number) => [200, issued(number)];

test("a merchant is sent away with PKCE, and comes back with a code", async (t) => {
  const server = await serve(t, issuing);
  const app = application(server);
  const { url, pending } = await app.authorize({ scopes: ["account:read", "offline_access"], mode: "test" });
  const query = Object.fromEntries(new URL(url).searchParams);
  assert.ok(url.startsWith(`${server.url}/api/v2/oauth/authorize?`));
  assert.deepEqual([query.scope, query.mode, query.state], ["account:read offline_access", "test", pending.state]);
  assert.equal(query.code_challenge, createHash("sha256").update(pending.codeVerifier).digest("base64url"));
  assert.match(pending.codeVerifier, /^[\w-]{43}$/);
  assert.equal(new URL((await app.authorize({ scopes: ["account:read"] })).url).searchParams.get("mode"), "live");

  const callback = `/callback?keep=1&code=c-1&state=${pending.state}&iss=${encodeURIComponent(server.url)}`;
  const tokens = await app.callback(callback, pending);
  assert.deepEqual([tokens.access_token, tokens.refresh_token, tokens.scope], ["a-1", "r-1", "x"]);
  assert.ok(tokens.expires_at > Date.now() + 800_000);
  const sent = fieldsOf(server.requests[0]);
  assert.deepEqual(sent, {
    client_id: "thc_1",
    client_secret: "s+s",
    grant_type: "authorization_code",
    code: "c-1",
    redirect_uri: REDIRECT,
    code_verifier: pending.codeVerifier,
  });
});

test("a callback of another authorization, another issuer or a denial is refused", async (t) => {
  const server = await serve(t, issuing);
  const pending = { state: "st", codeVerifier: "v" };
  const iss = encodeURIComponent(server.url);
  for (const [query, code] of [
    [`state=other&iss=${iss}&code=c`, "invalid_state"],
    [`iss=${iss}&code=c`, "invalid_state"],
    ["state=st&code=c", "invalid_issuer"],
    ["state=st&iss=https://evil.example&code=c", "invalid_issuer"],
    [`state=st&iss=${iss}&error=access_denied&error_description=no`, "access_denied"],
    [`state=st&iss=${iss}`, "invalid_request"],
  ]) {
    await assert.rejects(application(server).callback(`${REDIRECT}&${query}`, pending), (error) => error instanceof CallbackError && error.code === code);
  }
  assert.equal(server.requests.length, 0);
});

test("a code is sent once: a lost response is not asked for again", async (t) => {
  const server = await serve(t, () => "drop");
  const url = `${REDIRECT}&state=st&iss=${encodeURIComponent(server.url)}&code=c`;
  await assert.rejects(application(server).callback(url, { state: "st", codeVerifier: "v" }), sdk.NetworkError);
  assert.equal(server.requests.length, 1);
});

test("a public application has no secret", async (t) => {
  const server = await serve(t, () => [200, {}]);
  await application(server, { clientSecret: undefined }).revoke("a-1");
  assert.deepEqual(fieldsOf(server.requests[0]), { client_id: "thc_1", token: "a-1" });
  assert.equal(server.requests[0].url, "/api/v2/oauth/revoke");
});

test("a refresh whose response is lost is repeated with the key that was stored before", async (t) => {
  const storage = new MemoryTokenStorage(PAST);
  const keys = [];
  const server = await serve(t, async (request, number) => {
    keys.push(request.headers["idempotency-key"], (await storage.load()).refresh_key);
    return number === 1 ? "drop" : [200, issued(number)];
  });
  const connection = new Connection(application(server), storage);
  assert.equal(await connection.accessToken(), "a-2");
  assert.equal(new Set(keys).size, 1);
  assert.deepEqual([await connection.accessToken(), server.requests.length], ["a-2", 2]);
  const { access_token, refresh_token, refresh_key } = await storage.load();
  assert.deepEqual([access_token, refresh_token, refresh_key], ["a-2", "r-2", undefined]);
});

test("whoever comes after a crash repeats the identical refresh", async (t) => {
  const server = await serve(t, issuing);
  const storage = new MemoryTokenStorage({ ...PAST, refresh_key: "key-of-the-one-that-crashed" });
  await new Connection(application(server), storage).accessToken();
  assert.equal(server.requests[0].headers["idempotency-key"], "key-of-the-one-that-crashed");
  assert.equal(fieldsOf(server.requests[0]).refresh_token, "r-0");
});

test("many at once refresh once", async (t) => {
  const server = await serve(t, issuing);
  const storage = new MemoryTokenStorage(PAST);
  const app = application(server);
  const connections = [new Connection(app, storage), new Connection(app, storage)];
  const tokens = await Promise.all(Array.from({ length: 20 }, (_, index) => connections[index % 2].accessToken()));
  assert.deepEqual([...new Set(tokens)], ["a-1"]);
  assert.equal(server.requests.length, 1);
});

test("a token that the service refuses is refreshed, and the request sent again with its key", async (t) => {
  const server = await serve(t, (request, number) => {
    if (request.url === "/api/v2/oauth/token") {
      return [200, issued(number)];
    }
    return request.headers.authorization === "Bearer a-0" ? [401, errorBody("invalid_token")] : [201, { id: "w" }];
  });
  const connection = new Connection(application(server), new MemoryTokenStorage(VALID));
  const tollhouse = new Tollhouse({ baseUrl: server.url, connection });
  assert.deepEqual(await tollhouse.conversions.create({}), { id: "w" });
  const [first, , second] = server.requests;
  assert.equal(second.headers.authorization, "Bearer a-2");
  assert.equal(first.headers["idempotency-key"], second.headers["idempotency-key"]);
  assert.equal(second.headers["x-api-key"], undefined);
});

test("a token that is refused again, and an API key that is refused, are errors", async (t) => {
  const server = await serve(t, (request, number) => (request.url.endsWith("/token") ? [200, issued(number)] : [401, errorBody("invalid_token")]));
  const connection = new Connection(application(server), new MemoryTokenStorage(VALID));
  await assert.rejects(new Tollhouse({ baseUrl: server.url, connection }).account.get(), sdk.AuthenticationError);
  assert.equal(server.requests.length, 3);
  await assert.rejects(new Tollhouse({ baseUrl: server.url, apiKey: "k" }).account.get(), sdk.AuthenticationError);
});

test("what another process stored is used without a refresh", async (t) => {
  const server = await serve(t, () => assert.fail());
  const storage = new MemoryTokenStorage(VALID);
  const connection = new Connection(application(server), storage);
  await connection.accessToken();
  await storage.save({ ...VALID, access_token: "a-9" });
  assert.ok(await connection.renew({ Authorization: "Bearer a-0" }));
  assert.equal(await connection.accessToken(), "a-9");
});

test("a connection that ended is forgotten; other refusals leave it", async (t) => {
  const refused = await serve(t, () => [400, errorBody("invalid_grant")]);
  const storage = new MemoryTokenStorage(PAST);
  const ended = new Connection(application(refused), storage);
  await assert.rejects(ended.accessToken(), (error) => error instanceof ConnectionEndedError && error.cause.code === "invalid_grant");
  assert.equal(await storage.load(), null);
  await assert.rejects(ended.accessToken(), ConnectionEndedError);
  await assert.rejects(new Connection(application(refused), new MemoryTokenStorage()).accessToken(), ConnectionEndedError);
  const { refresh_token, ...single } = PAST;
  await assert.rejects(new Connection(application(refused), new MemoryTokenStorage(single)).accessToken(), ConnectionEndedError);

  const unknown = await serve(t, () => [401, errorBody("invalid_client")]);
  const kept = new MemoryTokenStorage(PAST);
  await assert.rejects(new Connection(application(unknown), kept).accessToken(), sdk.AuthenticationError);
  assert.equal((await kept.load()).refresh_token, "r-0");
});

test("disconnecting revokes, and forgets", async (t) => {
  const server = await serve(t, () => [200, {}]);
  for (const tokens of [VALID, { access_token: "a-0", expires_at: 0, scope: "" }]) {
    const storage = new MemoryTokenStorage(tokens);
    const connection = new Connection(application(server), storage);
    await connection.disconnect();
    await connection.disconnect();
    assert.equal(await storage.load(), null);
  }
  assert.deepEqual(server.requests.map((request) => fieldsOf(request).token), ["r-0", "a-0"]);
});

test("tokens without a lock are refreshed under a lock of the browser, where there is one", async (t) => {
  const server = await serve(t, issuing);
  const bare = () => {
    const memory = new MemoryTokenStorage(PAST);
    return { load: () => memory.load(), save: (tokens) => memory.save(tokens) };
  };
  assert.equal(await new Connection(application(server), bare()).accessToken(), "a-1");
  const held = [];
  const locks = { request: async (name, work) => (held.push(name), await work()) };
  Object.defineProperty(globalThis, "navigator", { value: { locks }, configurable: true });
  t.after(() => delete globalThis.navigator);
  assert.equal(await new Connection(application(server), bare()).accessToken(), "a-2");
  assert.deepEqual(held, [`tollhouse ${server.url} thc_1`]);
});

test("a lock goes on after work that failed", async () => {
  const lock = new sdk.ProcessLock();
  const failing = lock.hold(() => Promise.reject(new Error("no")));
  const next = lock.hold(async () => "next");
  await assert.rejects(failing);
  assert.equal(await next, "next");
});
