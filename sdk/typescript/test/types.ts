// What the types say: this file is compiled, not run. Each `@ts-expect-error` is a mistake that must not compile.

import {
  Connection,
  MemoryTokenStorage,
  OAuthApplication,
  Tollhouse,
  verifyWebhook,
  type Event,
  type LinkView,
  type TransactionView,
} from "tollhouse-sdk";
import { FileCheckpoint, FileTokenStorage } from "tollhouse-sdk/node";

const baseUrl = "https://pay.example";
const tollhouse = new Tollhouse({ baseUrl, apiKey: "th_test_key" });
const application = new OAuthApplication({ baseUrl, clientId: "thc_1", redirectUri: "https://app.example/callback" });
new Tollhouse({ baseUrl, connection: new Connection(application, new MemoryTokenStorage()) });
new Tollhouse({ baseUrl, connection: new Connection(application, new FileTokenStorage("tokens.json")) });
// @ts-expect-error a credential is needed
new Tollhouse({ baseUrl });

export async function requests(): Promise<void> {
  const link: LinkView = await tollhouse.paymentLinks.create({ display_name: "Coffee", amount: "4.20", currency: "EUR" });
  const minor: number = link.amount_minor;
  const text: string = link.amount;
  // @ts-expect-error amounts are decimal strings
  await tollhouse.paymentLinks.create({ display_name: "Coffee", amount: minor, currency: "EUR" });
  // @ts-expect-error there is no such member
  await tollhouse.paymentLinks.create({ display_name: text, currency: "EUR", colour: "red" });
  // @ts-expect-error there is no such filter
  await tollhouse.paymentLinks.list({ colour: "red" });
  for await (const transaction of tollhouse.transactions.list({ status: ["succeeded"], limit: 100 })) {
    const one: TransactionView = transaction;
    await tollhouse.transactions.createRefund(one.id, {}, { idempotencyKey: "refund-1" });
  }
  const { payment_links: links, has_more: more } = await tollhouse.paymentLinks.list();
  const first: LinkView | undefined = links[0];
  const configuration: { url: string } | null = await tollhouse.webhook.get();
  await tollhouse.consume((item) => seen(item.event), new FileCheckpoint("checkpoint.json"), { types: ["payment.succeeded"] });
  // @ts-expect-error there is no such event
  tollhouse.feed({ types: ["payment.invented"] });
  console.log(more, first, configuration, await verifyWebhook("", {}, "whsec_"));
}

function seen(event: Event): string {
  switch (event.type) {
    case "payment.succeeded":
      return event.data.object.id;
    case "balance.updated":
      return event.data.object.available;
    case "payment.failed":
    case "payment.expired":
    case "payment.refund_required":
    case "payment.refunded":
    case "payment.chargeback":
      // @ts-expect-error that is a member of balances
      return event.data.object.available;
    case "withdrawal.processing":
    case "withdrawal.completed":
    case "withdrawal.failed":
      return event.data.object.method_id;
    case "conversion.completed":
      return event.data.object.to_currency;
    case "webhook.test":
      return event.data.object.message;
    default:
      return event satisfies never;
  }
}
