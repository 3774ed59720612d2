// Requests: idempotency keys, retries where they are safe, errors as classes, lists.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as sdk from "../dist/index.js";
import { errorBody, serve } from "./server.mjs";

const { Tollhouse } = sdk;
const QUICK = { apiKey: "th_test_key", retryDelayMs: 1 };
const REFUND = { amount: "1.00" };

function client(server, more = {}) {
  return new Tollhouse({ baseUrl: `${server.url}/`, ...QUICK, ...more });
}

test("a lost response is asked for again with the same idempotency key", async (t) => {
  const server = await serve(t, (_, number) => (number < 3 ? "drop" : [201, { id: "1" }]));
  assert.deepEqual(await client(server).transactions.createRefund("t-1", REFUND), { id: "1" });
  const keys = server.requests.map((request) => request.headers["idempotency-key"]);
  assert.equal(new Set(keys).size, 1);
  assert.match(keys[0], /^[\w-]{43}$/);
  assert.equal(server.requests[0].url, "/api/v2/integration/transactions/t-1/refunds");
  assert.equal(server.requests[0].headers["x-api-key"], "th_test_key");
  assert.equal(server.requests[0].headers["content-type"], "application/json");
  assert.deepEqual(JSON.parse(server.requests[2].body), REFUND);
});

test("a key of the caller is sent, and is in the error when no response came", async (t) => {
  const server = await serve(t, () => "drop");
  const failing = client(server, { maxRetries: 1 }).withdrawals.create({}, { idempotencyKey: "order-7" });
  await assert.rejects(failing, (error) => error instanceof sdk.NetworkError && error.idempotencyKey === "order-7" && error.cause instanceof Error);
  assert.deepEqual(server.requests.map((request) => request.headers["idempotency-key"]), ["order-7", "order-7"]);
});

for (const [status, code] of [[429, "rate_limited"], [500, "server_error"], [503, "temporarily_unavailable"], [409, "idempotency_in_progress"]]) {
  test(`${code} is repeated`, async (t) => {
    const server = await serve(t, (_, number) => (number === 1 ? [status, errorBody(code), { "Retry-After": "0" }] : [200, []]));
    await client(server).conversions.create({});
    assert.equal(server.requests.length, 2);
  });
}

test("other refusals are not repeated", async (t) => {
  const server = await serve(t, () => [409, errorBody("invalid_state")]);
  await assert.rejects(client(server).paymentLinks.cancel("l-1"), sdk.ConflictError);
  assert.equal(server.requests.length, 1);
  assert.equal(server.requests[0].body, "");
});

test("a request whose response shows a secret is repeated only when it was surely not carried out", async (t) => {
  const lost = await serve(t, () => "drop");
  await assert.rejects(client(lost).webhook.rotateSecret(), sdk.NetworkError);
  assert.equal(lost.requests.length, 1);
  assert.equal(lost.requests[0].headers["idempotency-key"], undefined);
  const unsure = await serve(t, () => [503, errorBody("temporarily_unavailable")]);
  await assert.rejects(client(unsure).webhook.rotateSecret(), sdk.ServerError);
  assert.equal(unsure.requests.length, 1);
  const limited = await serve(t, (_, number) => (number === 1 ? [429, errorBody("rate_limited")] : [200, { secret: "s" }]));
  assert.deepEqual(await client(limited).webhook.rotateSecret(), { secret: "s" });
});

test("Retry-After is waited for, as seconds or as a date", async (t) => {
  const at = [];
  const server = await serve(t, (_, number) => {
    at.push(Date.now());
    const later = [{ "Retry-After": "1" }, { "Retry-After": new Date(Date.now() + 2000).toUTCString() }, { "Retry-After": "later" }];
    return number <= later.length ? [503, errorBody("temporarily_unavailable"), later[number - 1]] : [200, {}];
  });
  await client(server).account.get();
  assert.ok(at[1] - at[0] >= 990, `${at}`);
  assert.ok(at[2] - at[1] >= 900, `${at}`);
});

test("a Retry-After that is too long is left to the caller", async (t) => {
  const server = await serve(t, () => [429, errorBody("rate_limited"), { "Retry-After": "61" }]);
  await assert.rejects(client(server).account.get(), (error) => error instanceof sdk.RateLimitError && error.retryAfterS === 61);
  assert.equal(server.requests.length, 1);
});

test("errors have a class, a code and the page that explains it", async (t) => {
  const classes = [
    [400, sdk.InvalidRequestError],
    [401, sdk.AuthenticationError],
    [403, sdk.PermissionError],
    [404, sdk.NotFoundError],
    [409, sdk.ConflictError],
    [410, sdk.GoneError],
    [422, sdk.ValidationError],
    [500, sdk.ServerError],
    [405, sdk.ApiError],
  ];
  for (const [status, expected] of classes) {
    const more = { errors: [{ field: "amount", code: "c", message: "m" }], scope: "payments:read", details: { oldest: 4 } };
    const server = await serve(t, () => [status, errorBody("some_code", more)]);
    const error = await client(server, { maxRetries: 0 }).account.get().catch((thrown) => thrown);
    assert.equal(error.constructor, expected);
    assert.equal(error.name, expected.name);
    assert.ok(error instanceof sdk.TollhouseError);
    assert.equal(error.docUrl, `${server.url}/docs/api/errors#some_code`);
    const { code, requestId, errors, details } = error;
    assert.deepEqual([error.status, code, requestId, errors[0].field, details.oldest], [status, "some_code", "r-1", "amount", 4]);
    assert.equal(error.scope, status === 403 ? "payments:read" : undefined);
  }
});

test("the page that the service names is preferred", async (t) => {
  const server = await serve(t, () => [404, errorBody("not_found", { doc_url: "https://docs.example/not_found" })]);
  await assert.rejects(client(server).account.get(), { docUrl: "https://docs.example/not_found" });
});

test("what is not of the service is an error, too", async (t) => {
  for (const answer of [[200, "<html>"], [302, "", { Location: "/" }], [502, "bad gateway"], [400, "null"]]) {
    const server = await serve(t, () => answer);
    await assert.rejects(client(server, { maxRetries: 0 }).account.get(), { code: "unexpected_response", status: answer[0] });
  }
});

/** A fetch that gets no response, and counts its attempts. */
function silent() {
  const attempts = [];
  const silence = (url, { signal }) => {
    attempts.push(url);
    return new Promise((_, fail) => signal.addEventListener("abort", () => fail(signal.reason)));
  };
  return { attempts, fetch: silence };
}

test("an attempt ends in time, and a signal ends all", async () => {
  const { attempts, fetch } = silent();
  const tollhouse = client({ url: "https://pay.example" }, { maxRetries: 1, fetch });
  const late = tollhouse.account.get({ timeoutMs: 5 });
  await assert.rejects(late, (error) => error instanceof sdk.NetworkError && /5 ms/.test(error.message));
  assert.equal(attempts.length, 2);
  const ended = new AbortController();
  const aborted = tollhouse.account.get({ signal: ended.signal });
  setTimeout(() => ended.abort(new Error("closing")), 5);
  await assert.rejects(aborted, { message: "closing" });
  await assert.rejects(tollhouse.account.get({ signal: ended.signal }), { message: "closing" });
  assert.equal(attempts.length, 3);
});

test("a signal ends the wait between attempts", async (t) => {
  const server = await serve(t, () => [503, errorBody("temporarily_unavailable"), { "Retry-After": "50" }]);
  const ended = new AbortController();
  const waiting = client(server).account.get({ signal: ended.signal });
  setTimeout(() => ended.abort(new Error("closing")), 50);
  await assert.rejects(waiting, { message: "closing" });
});

test("a fetch of the caller is used", async () => {
  const own = async (url) => Response.json({ url });
  const tollhouse = new Tollhouse({ baseUrl: "https://pay.example", apiKey: "k", fetch: own });
  assert.deepEqual(await tollhouse.currencies.list(), { url: "https://pay.example/api/v2/integration/currencies" });
  const failing = new Tollhouse({ ...QUICK, baseUrl: "https://pay.example", fetch: () => Promise.reject("no"), maxRetries: 0 });
  await assert.rejects(failing.account.get(), /no/);
});

test("a list is a page, or all its objects", async (t) => {
  const pages = { undefined: [[1, 2], "c2"], c2: [[], "c3"], c3: [[3], null] };
  const server = await serve(t, (request) => {
    const cursor = new URL(request.url, "http://x").searchParams.get("cursor") ?? undefined;
    const [payment_links, next_cursor] = pages[cursor];
    return [200, { payment_links, next_cursor, has_more: next_cursor !== null }];
  });
  const links = client(server).paymentLinks;
  assert.deepEqual((await links.list({ limit: 2, currency: undefined })).payment_links, [1, 2]);
  assert.match(server.requests[0].url, /\?limit=2$/);
  const all = [];
  for await (const link of links.list({ status: ["active", "expired"], page: 1 })) {
    all.push(link);
  }
  assert.deepEqual(all, [1, 2, 3]);
  assert.match(server.requests[1].url, /\?status=active&status=expired&page=1$/);
  assert.match(server.requests[2].url, /\?status=active&status=expired&cursor=c2$/);
  const none = client(await serve(t, () => [200, {}])).paymentLinks.list();
  for await (const link of none) {
    assert.fail(link);
  }
  await assert.rejects(async () => await client(await serve(t, () => [404, errorBody("not_found")])).refunds.list(), sdk.NotFoundError);
});

test("an ID cannot change the path", async (t) => {
  const server = await serve(t, () => [200, {}]);
  for (const id of ["", ".", ".."]) {
    assert.throws(() => client(server).refunds.get(id), TypeError);
  }
  await client(server).refunds.get("a/../b?c");
  assert.equal(server.requests[0].url, "/api/v2/integration/refunds/a%2F..%2Fb%3Fc");
});

test("every operation sends what its name says", async (t) => {
  const server = await serve(t, () => [200, { has_more: false, next_cursor: null }]);
  const tollhouse = client(server);
  let called = 0;
  for (const resource of Object.values(tollhouse).filter((one) => "api" in one)) {
    for (const name of Object.getOwnPropertyNames(Object.getPrototypeOf(resource)).filter((one) => one !== "constructor")) {
      const ids = resource[name].toString().match(/^\w+\(([^)]*)\)/)[1].split(", ").filter((one) => /Id$|^code$/.test(one));
      await resource[name](...ids.map(() => "id-1"));
      called += 1;
      assert.equal(server.requests.length, called);
      const { method, headers } = server.requests.at(-1);
      assert.ok(name !== "list" && name !== "get" || method === "GET", name);
      assert.equal("idempotency-key" in headers, method === "POST" && name !== "rotateSecret", name);
    }
  }
  assert.ok(called >= 80);
  assert.equal(new Set(server.requests.map(({ method, url }) => `${method} ${url}`)).size, called);
});
