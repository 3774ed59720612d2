// A game's back end: a purchase of gems is delivered to the player once, also when this process is killed in between.

import { randomUUID, timingSafeEqual } from "node:crypto";
import { existsSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { createServer } from "node:http";
import { ApiError, NetworkError, Tollhouse } from "tollhouse-sdk";

const { TOLLHOUSE_URL: baseUrl, TOLLHOUSE_KEY: apiKey, GAME_TOKEN: token, PORT = "9002", JOURNAL = "purchases.jsonl" } = process.env;
const PRODUCT = process.env.PRODUCT ?? "sandbox:gems";
/** What a purchase may cost the game; a higher price is refused by the service. */
const MAX_COST = process.env.MAX_COST;
const POLL_MS = Number(process.env.POLL_MS ?? 1000);
const FINAL = new Set(["completed", "partially_completed", "failed", "canceled"]);

const tollhouse = new Tollhouse({ baseUrl, apiKey });
const purchases = new Map();
const text = existsSync(JOURNAL) ? readFileSync(JOURNAL, "utf8") : "";
for (const line of text.slice(0, text.lastIndexOf("\n") + 1).split("\n").filter(Boolean)) {
  const purchase = JSON.parse(line);
  purchases.set(purchase.id, purchase);
}
const journal = openSync(JOURNAL, "a", 0o600);
if (text && !text.endsWith("\n")) {
  writeSync(journal, "\n");
}

/** A purchase is durable before anything else happens with it. */
function store(purchase) {
  writeSync(journal, `${JSON.stringify(purchase)}\n`);
  fsyncSync(journal);
  purchases.set(purchase.id, purchase);
}

/** Order it, or read how the order is. The purchase's ID is the idempotency key: there is one order, however often it is sent. */
async function settle(purchase) {
  const { id, player, quantity, fulfillmentId } = purchase;
  const order = { product_id: PRODUCT, quantity, recipient: { player_id: player }, external_id: id };
  try {
    const fulfillment = fulfillmentId
      ? await tollhouse.fulfillments.get(fulfillmentId)
      : await tollhouse.fulfillments.create(MAX_COST ? { ...order, max_cost: MAX_COST } : order, { idempotencyKey: id });
    if (fulfillment.id !== fulfillmentId || fulfillment.status !== purchase.status) {
      store({ ...purchase, fulfillmentId: fulfillment.id, status: fulfillment.status });
    }
  } catch (error) {
    if (!(error instanceof ApiError || error instanceof NetworkError)) {
      throw error;
    }
    console.error(id, error.message);
    if (error instanceof ApiError && [403, 404, 422].includes(error.status)) {
      store({ ...purchase, status: "failed", reason: error.code });
    }
  }
}

async function settleAll() {
  for (;;) {
    for (const purchase of [...purchases.values()].filter((one) => !FINAL.has(one.status))) {
      await settle(purchase);
    }
    await new Promise((done) => setTimeout(done, POLL_MS));
  }
}

async function buy(request) {
  const body = await json(request);
  const { player_id: player, gems } = body ?? {};
  if (typeof player !== "string" || !/^[\w-]{1,64}$/.test(player) || !Number.isInteger(gems) || gems < 1) {
    return [422, { error: "Send player_id, and gems as a whole number from 1." }];
  }
  const id = typeof body.purchase_id === "string" && /^[\w-]{1,64}$/.test(body.purchase_id) ? body.purchase_id : randomUUID();
  if (!purchases.has(id)) {
    store({ id, player, quantity: gems, status: "pending" });
  }
  return [202, purchases.get(id)];
}

async function json(request) {
  const chunks = [];
  for await (const chunk of request) {
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks));
  } catch {
    return undefined;
  }
}

function isAllowed(request) {
  const [given, expected] = [request.headers.authorization ?? "", `Bearer ${token}`].map((one) => Buffer.from(one));
  return given.length === expected.length && timingSafeEqual(given, expected);
}

async function respond(request) {
  if (!isAllowed(request)) {
    return [401, { error: "Send the game server's token." }];
  }
  const purchase = /^\/purchases\/([\w-]+)$/.exec(request.url)?.[1];
  if (request.method === "POST" && request.url === "/purchases") {
    return buy(request);
  }
  if (request.method === "GET" && purchases.has(purchase)) {
    return [200, purchases.get(purchase)];
  }
  return [404, { error: "There is no such purchase." }];
}

const server = createServer(async (request, response) => {
  const [status, body] = await respond(request);
  response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
});
server.listen(Number(PORT), () => console.log(`listening at port ${PORT}`));
await settleAll();
