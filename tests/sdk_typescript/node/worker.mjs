// A worker that may be killed at any moment: it pays orders and records events, with tokens that other workers share.

import { appendFileSync, closeSync, existsSync, fsyncSync, openSync, readFileSync, truncateSync } from "node:fs";
import { Connection, OAuthApplication, Tollhouse } from "../../../sdk/typescript/dist/index.js";
import { FileTokenStorage } from "../../../sdk/typescript/dist/node.js";

const { baseUrl, application, tokensPath, folder, name, finish } = JSON.parse(process.env.SCENARIO);

/** Lines of JSON, each of which is durable before `append` returns. A line that a kill cut off is dropped. */
class Journal {
  constructor(file) {
    this.path = `${folder}/${name}-${file}.jsonl`;
    const text = existsSync(this.path) ? readFileSync(this.path, "utf8") : "";
    const whole = text.slice(0, text.lastIndexOf("\n") + 1);
    if (whole !== text) {
      truncateSync(this.path, Buffer.byteLength(whole));
    }
    this.lines = whole.split("\n").filter(Boolean).map((line) => JSON.parse(line));
  }

  append(line) {
    const file = openSync(this.path, "a");
    appendFileSync(file, `${JSON.stringify(line)}\n`);
    fsyncSync(file);
    closeSync(file);
    this.lines.push(line);
  }
}

const orders = new Journal("orders");
const payments = new Journal("payments");
const events = new Journal("events");
const app = new OAuthApplication({ baseUrl, ...application, redirectUri: "https://app.example/callback" });
const connection = new Connection(app, new FileTokenStorage(tokensPath));
const tollhouse = new Tollhouse({ baseUrl, connection, retryDelayMs: 20 });

async function pay(order) {
  const body = { amount: "0.01", currency: "EUR", capture: true, external_id: order };
  const payment = await tollhouse.balancePayments.create(body, { idempotencyKey: order });
  payments.append({ order, id: payment.id });
  console.log("paid");
}

async function payAll() {
  const paid = new Set(payments.lines.map((line) => line.order));
  for (const { order } of orders.lines.filter((line) => !paid.has(line.order))) {
    await pay(order);
  }
  while (!finish) {
    const order = `${name}-${orders.lines.length + 1}`;
    orders.append({ order });
    await pay(order);
  }
}

/** The event and the checkpoint are one line, so an event is recorded once. */
async function recordEvents() {
  const checkpoints = { load: async () => events.lines.at(-1)?.checkpoint ?? null, save: async () => undefined };
  const record = ({ event, checkpoint }) => {
    events.append({ id: event.id, checkpoint });
    console.log("recorded");
  };
  await tollhouse.consume(record, checkpoints, { waitS: 2, limit: 5, follow: !finish });
}

if (finish) {
  await payAll();
  await recordEvents();
} else {
  await Promise.all([payAll(), recordEvents()]);
}
