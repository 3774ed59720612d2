// The event feed: in order, from the checkpoint on, without an end.

import assert from "node:assert/strict";
import { test } from "node:test";
import { EventsExpiredError, FeedResetError, Tollhouse } from "../dist/index.js";
import { errorBody, serve } from "./server.mjs";

/** A feed of so many events; `types` hides those with an odd position. */
function feedOf(count, feedId = "f-1") {
  return ({ url }) => {
    const query = new URL(url, "http://x").searchParams;
    const after = Number(query.get("after") ?? 0);
    const limit = Number(query.get("limit"));
    const next = Math.min(after + limit, count);
    const positions = Array.from({ length: next - after }, (_, index) => after + index + 1);
    const events = positions
      .filter((position) => !query.has("types") || position % 2 === 0)
      .map((position) => ({ position, id: `e-${position}`, body: `{"id":"e-${position}"}`, headers: {} }));
    return [200, { feed_id: feedId, events, next, has_more: next < count }];
  };
}

function client(server) {
  return new Tollhouse({ baseUrl: server.url, apiKey: "k", retryDelayMs: 1, maxRetries: 1 });
}

function stored(checkpoint = null) {
  const saved = [];
  return { saved, load: async () => checkpoint, save: async (one) => void saved.push(one) };
}

test("all events come in order, and the reading ends where it is not followed", async (t) => {
  const server = await serve(t, feedOf(5));
  const items = [];
  for await (const item of client(server).feed({ follow: false, limit: 2 })) {
    items.push(item);
  }
  assert.deepEqual(items.map((item) => item.event.id), ["e-1", "e-2", "e-3", "e-4", "e-5"]);
  assert.deepEqual(items[4].checkpoint, { feedId: "f-1", position: 5 });
  assert.match(server.requests[0].url, /\/events\?limit=2&wait=0$/);
  assert.match(server.requests[1].url, /\/events\?after=2&feed_id=f-1&limit=2&wait=0$/);
});

test("a consumer stores each checkpoint after the event, and the end of what was filtered", async (t) => {
  const server = await serve(t, feedOf(5));
  const checkpoints = stored({ feedId: "f-1", position: 1 });
  const handled = [];
  await client(server).consume((item) => void handled.push(item.event.id), checkpoints, { follow: false, types: ["a", "b"] });
  assert.deepEqual(handled, ["e-2", "e-4"]);
  assert.deepEqual(checkpoints.saved.map((one) => one.position), [2, 4, 5]);
  assert.match(server.requests[0].url, /after=1&feed_id=f-1&types=a%2Cb/);
});

test("an event whose handler failed is not stored", async (t) => {
  const server = await serve(t, feedOf(3));
  const checkpoints = stored();
  const failing = client(server).consume((item) => (item.event.id === "e-2" ? Promise.reject(new Error("no")) : undefined), checkpoints);
  await assert.rejects(failing, { message: "no" });
  assert.deepEqual(checkpoints.saved.map((one) => one.position), [1]);
});

test("a signal ends the reading without an error, also while it waits", async (t) => {
  const ended = new AbortController();
  const waiting = await serve(t, (request, number) => (number === 1 ? feedOf(2)(request) : new Promise(() => ended.abort())));
  const handled = [];
  await client(waiting).consume((item) => void handled.push(item.event.id), stored(), { signal: ended.signal });
  assert.deepEqual(handled, ["e-1", "e-2"]);
  assert.match(waiting.requests[1].url, /wait=30/);
  const between = new AbortController();
  await client(await serve(t, feedOf(2))).consume(() => between.abort(), stored(), { signal: between.signal });
  await client(waiting).consume(() => assert.fail(), stored(), { signal: between.signal });
});

test("outages are waited for", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const turn = setImmediate;
  let done = false;
  const passing = async () => {
    while (!done) {
      await new Promise((next) => turn(next));
      t.mock.timers.tick(1000);
    }
  };
  const server = await serve(t, (request, number) => {
    const failures = ["drop", [500, errorBody("server_error")], [429, errorBody("rate_limited")], [503, "down"]];
    return number <= 4 ? failures[number - 1] : feedOf(1)(request);
  });
  const tollhouse = new Tollhouse({ baseUrl: server.url, apiKey: "k", maxRetries: 0, timeoutMs: 1e9 });
  const passed = passing();
  const items = [];
  for await (const item of tollhouse.feed({ follow: false, waitS: 1e6 })) {
    items.push(item.event.id);
  }
  done = true;
  await passed;
  assert.deepEqual(items, ["e-1"]);
});

test("a feed that began anew, and events that are gone, are errors of their own", async (t) => {
  const reset = await serve(t, () => [409, errorBody("feed_reset")]);
  await assert.rejects(client(reset).consume(() => undefined, stored()), FeedResetError);
  const expired = await serve(t, () => [410, errorBody("events_expired", { details: { oldest: 17 } })]);
  await assert.rejects(client(expired).feed().next(), (error) => error instanceof EventsExpiredError && error.oldest === 17);
  const refused = await serve(t, () => [403, errorBody("missing_scope")]);
  await assert.rejects(client(refused).feed().next(), { code: "missing_scope" });
});
