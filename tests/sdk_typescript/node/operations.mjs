// Calls every operation of the Integration API by its method, as a merchant and as an application, and prints each call.

import assert from "node:assert/strict";
import { Connection, MemoryTokenStorage, OAuthApplication, Tollhouse } from "../../../sdk/typescript/dist/index.js";

const { baseUrl, apiKey, application, tokens, receiver } = JSON.parse(process.env.SCENARIO);

/** The real fetch, which prints what succeeded. */
async function printed(url, init) {
  const response = await fetch(url, init);
  if (response.ok) {
    console.log(`${init.method} ${new URL(url).pathname}`);
  }
  return response;
}

const merchant = new Tollhouse({ baseUrl, apiKey, fetch: printed });
const app = new OAuthApplication({ baseUrl, ...application, redirectUri: "https://app.example/callback" });
const connection = new Connection(app, new MemoryTokenStorage({ ...tokens, expires_at: Date.now() + 600_000 }));
const connected = new Tollhouse({ baseUrl, connection, fetch: printed });

const { paymentLinks, transactions, refunds, disputes, test } = merchant;

async function settled(read, wanted) {
  for (;;) {
    const object = await read();
    if (wanted(object)) {
      return object;
    }
    await new Promise((done) => setTimeout(done, 50));
  }
}

async function accountAndCatalogue() {
  assert.equal((await merchant.account.get()).mode, "test");
  assert.equal((await connected.account.get()).oauth_client_id, application.clientId);
  await merchant.currencies.list();
  await merchant.paymentMethods.list({ currency: "EUR" });
  const { projects } = await merchant.projects.list();
  await merchant.projects.get(projects[0].id);
  await test.advanceClock({ seconds: 1 });
}

async function payments() {
  const link = await paymentLinks.create({ display_name: "Coffee", amount: "4.20", currency: "EUR", webhook_url: receiver });
  await paymentLinks.changeExpiry(link.id, { expires_at: new Date(Date.now() + 7_200_000).toISOString() });
  const payment = await test.simulatePaymentLink(link.id, { outcome: "succeed" });
  assert.equal((await paymentLinks.get(link.id)).status, "completed");
  const found = await transactions.list({ payment_link_id: link.id });
  const [transaction] = found.transactions;
  assert.equal((await transactions.get(transaction.id)).net_minor, 420);
  const refund = await transactions.createRefund(transaction.id, { amount: "1.00" });
  await test.simulateRefund(refund.id, { outcome: "succeed" });
  await transactions.listRefunds(transaction.id);
  await refunds.get(refund.id);
  await refunds.list();
  const canceled = await paymentLinks.create({ display_name: "Tea", amount: "2.00", currency: "EUR" });
  assert.equal((await paymentLinks.cancel(canceled.id)).status, "canceled");
  let count = 0;
  for await (const one of paymentLinks.list({ limit: 1, status: ["completed", "canceled"] })) {
    count += one.object === "payment_link" ? 1 : 0;
  }
  assert.equal(count, 2);
  assert.ok(payment);
}

async function paid(outcome, amount) {
  const link = await paymentLinks.create({ display_name: "Cake", amount: "9.00", currency: "EUR" });
  await test.simulatePaymentLink(link.id, { outcome, ...(amount ? { amount } : {}) });
  return (await transactions.list({ payment_link_id: link.id })).transactions[0];
}

async function disputesAndAcceptance() {
  const late = await paid("late");
  await transactions.accept(late.id);
  const first = await paid("succeed");
  await test.simulateTransaction(first.id, { outcome: "chargeback" });
  const [dispute] = (await disputes.list({ transaction_id: first.id })).disputes;
  await disputes.updateEvidence(dispute.id, { product_description: "A cake." });
  await disputes.submit(dispute.id);
  await disputes.get(dispute.id);
  const second = await paid("succeed");
  await test.simulateTransaction(second.id, { outcome: "chargeback" });
  const [accepted] = (await disputes.list({ transaction_id: second.id })).disputes;
  await disputes.accept(accepted.id);
}

async function balances() {
  await test.fundBalance({ currency: "EUR", amount: "500.00" });
  await test.fundBalance({ currency: "USD", amount: "50.00" });
  await merchant.balances.list();
  assert.equal((await merchant.balances.get("EUR")).currency, "EUR");
  const { ledger } = await merchant.ledger.list({ limit: 1 });
  await merchant.ledger.get(ledger[0].id);
  await merchant.reports.financialSummary({ group_by: "month" });
}

async function balancePayments() {
  const reserve = () => connected.balancePayments.create({ amount: "2.00", currency: "EUR", capture: false });
  const first = await reserve();
  await connected.balancePayments.capture(first.id, { amount: "1.00" });
  await connected.balancePayments.refund(first.id);
  await connected.balancePayments.release((await reserve()).id);
  await connected.balancePayments.get(first.id);
  await connected.balancePayments.list();
}

async function withdrawals() {
  await merchant.withdrawalMethods.list();
  const where = { method_id: "sandbox:EUR", receiver: "Nina Nowak" };
  await merchant.withdrawalQuotes.create({ method_id: "sandbox:EUR", amount: "4.20" });
  const withdrawal = await merchant.withdrawals.create({ ...where, amount: "4.20" });
  await test.simulateWithdrawal(withdrawal.id, { outcome: "complete" });
  await merchant.withdrawals.get(withdrawal.id);
  await merchant.withdrawals.list();
  await merchant.withdrawals.cancel((await merchant.withdrawals.create({ ...where, amount: "1.00" })).id);
  const recipient = await merchant.withdrawalRecipients.create({ ...where, name: "Nina" });
  await merchant.withdrawalRecipients.get(recipient.id);
  await merchant.withdrawalRecipients.list();
  const batch = await merchant.withdrawalBatches.create({ items: [{ ...where, amount: "1.00" }] });
  await merchant.withdrawalBatches.get(batch.id);
  await merchant.withdrawalBatches.list();
  const schedules = merchant.withdrawalSchedules;
  const schedule = await schedules.create({ recipient_id: recipient.id, frequency: "monthly", day: 1, amount: "10.00" });
  await schedules.pause(schedule.id);
  await schedules.resume(schedule.id);
  await schedules.get(schedule.id);
  await schedules.list();
  await schedules.delete(schedule.id);
  await merchant.withdrawalRecipients.delete(recipient.id);
  await merchant.settings.updateWithdrawals({ saved_recipients_only: false });
  await merchant.settings.getWithdrawals();
}

async function conversions() {
  const pair = { from_currency: "EUR", to_currency: "USD" };
  await merchant.conversionPairs.list();
  const quote = await merchant.conversionQuotes.create({ ...pair, amount: "4.20" });
  const conversion = await merchant.conversions.create({ quote_id: quote.id });
  await merchant.conversions.get(conversion.id);
  await merchant.conversions.list();
  const rules = merchant.conversionRules;
  const rule = await rules.create({ ...pair, trigger: "on_payment", percent: 50 });
  await rules.update(rule.id, { ...pair, trigger: "on_payment", percent: 60, version: rule.version });
  await rules.get(rule.id);
  await rules.list();
  await rules.delete(rule.id);
}

async function proposals() {
  const order = { product_id: "sandbox:gems", quantity: 10, recipient: { player_id: "nina-7" } };
  const proposal = await merchant.proposals.create({ operation: "fulfillments", body: order });
  assert.equal((await merchant.proposals.get(proposal.id)).status, "waiting");
  await merchant.proposals.list();
  assert.equal((await merchant.proposals.cancel(proposal.id)).status, "canceled");
}

async function fulfillments() {
  await merchant.fulfillmentProducts.list();
  const order = { product_id: "sandbox:gems", quantity: 10, recipient: { player_id: "nina-7" } };
  const first = await merchant.fulfillments.create(order);
  await test.simulateFulfillment(first.id, { outcome: "complete" });
  await merchant.fulfillments.get(first.id);
  await merchant.fulfillments.list();
  await merchant.fulfillments.statistics();
  await merchant.fulfillments.cancel((await merchant.fulfillments.create(order)).id);
}

async function settingsAndWebhooks() {
  const settings = await merchant.settings.get();
  for (const shown of ["object", "mode", "livemode", "updated_at", "webhook_signing_secret_configured", "supported_payment_methods"]) {
    delete settings[shown];
  }
  await merchant.settings.update({ ...settings, link_expiry_minutes: 60 });
  const { secret } = await merchant.webhook.save({ url: receiver, event_types: ["payment.succeeded"] });
  assert.match(secret, /^whsec_/);
  assert.match((await merchant.webhook.rotateSecret()).secret, /^whsec_/);
  assert.equal((await merchant.webhook.get()).has_secret, true);
  await merchant.webhook.sendTest({ url: receiver });
  const { webhook_events: events } = await merchant.webhookEvents.list();
  await merchant.webhookEvents.get(events[0].id);
  const sent = await settled(() => merchant.webhookEvents.get(events[0].id), (event) => event.attempts > 0);
  await merchant.webhookEvents.redeliver(sent.id);
  assert.ok((await merchant.events.get({ limit: 1 })).feed_id);
  await settled(() => merchant.requestLog.get({ limit: 1 }), ({ requests }) => requests.length === 1);
  await merchant.webhook.disable();
}

/** Every operation once. */
export async function callEverything() {
  await accountAndCatalogue();
  await settingsAndWebhooks();
  await payments();
  await disputesAndAcceptance();
  await balances();
  await balancePayments();
  await withdrawals();
  await conversions();
  await fulfillments();
  await proposals();
}
