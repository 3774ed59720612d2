// Webhooks: only genuine and recent ones become events.

import assert from "node:assert/strict";
import { createHmac, randomBytes } from "node:crypto";
import { test } from "node:test";
import { parseEvent, SignatureError, verifyWebhook } from "../dist/index.js";

/** The test vector of the documentation. */
const SECRET = "whsec_dG9sbGhvdXNlIHdlYmhvb2sgdGVzdCB2ZWN0b3IgMDE=";
const BODY = '{"id":"018f0000-0000-7000-8000-000000000001","type":"payment.succeeded","amount":"10.50","note":"café"}';
const STANDARD = {
  "webhook-id": "018f0000-0000-7000-8000-000000000001",
  "webhook-timestamp": "1795232340",
  "webhook-signature": "v1,Qs5L7yvC92vdaUDLr42I9ufgKLDPZaWS4SHjg9A4aXg=",
};
const PLAIN = { "X-Service-Signature": "455ec953672fbc63bcc1781e7bdfa0a24a3e9e6bab8b955d6025d451ded8f1af" };
const NOW = { now: 1795232340_000 };
const OTHER = `whsec_${randomBytes(32).toString("base64")}`;

test("the documented delivery is genuine, as text or bytes, with any kind of headers", async () => {
  const bytes = new TextEncoder().encode(BODY);
  for (const body of [BODY, bytes, Buffer.from(BODY)]) {
    for (const headers of [STANDARD, { ...STANDARD, ...PLAIN }, new Headers(STANDARD)]) {
      const event = await verifyWebhook(body, headers, SECRET, NOW);
      assert.equal(event.type, "payment.succeeded");
    }
  }
  assert.equal(parseEvent(bytes).type, "payment.succeeded");
});

test("what was changed, is signed with another secret, or is unsigned is refused", async () => {
  const without = (name) => Object.fromEntries(Object.entries(STANDARD).filter(([one]) => one !== name));
  const attempts = [
    [BODY.replace("10.50", "99.50"), STANDARD, SECRET],
    [BODY, { ...STANDARD, "webhook-id": "other" }, SECRET],
    [BODY, STANDARD, OTHER],
    [BODY, { ...STANDARD, "webhook-signature": "v1,%%%" }, SECRET],
    [BODY, { ...STANDARD, "webhook-signature": "v1a,Qs5L7yvC92vdaUDLr42I9ufgKLDPZaWS4SHjg9A4aXg=" }, SECRET],
    [BODY, without("webhook-id"), SECRET],
    [BODY, without("webhook-signature"), SECRET],
    [BODY, without("webhook-timestamp"), SECRET],
    [BODY, {}, SECRET],
    [BODY, PLAIN, SECRET],
    [BODY, STANDARD, []],
  ];
  for (const [body, headers, secret] of attempts) {
    await assert.rejects(verifyWebhook(body, headers, secret, NOW), SignatureError);
  }
});

test("a delivery that is older or newer than the tolerance is refused", async () => {
  for (const now of [NOW.now + 301_000, NOW.now - 301_000]) {
    await assert.rejects(verifyWebhook(BODY, STANDARD, SECRET, { now }), SignatureError);
    assert.ok(await verifyWebhook(BODY, STANDARD, SECRET, { now, toleranceS: 302 }));
  }
  await assert.rejects(verifyWebhook(BODY, STANDARD, SECRET), SignatureError);
  await assert.rejects(verifyWebhook(BODY, { ...STANDARD, "webhook-timestamp": "9e9" }, SECRET, NOW), SignatureError);
});

test("without a tolerance, the service's own signature is enough", async () => {
  const any = { toleranceS: null };
  assert.ok(await verifyWebhook(BODY, STANDARD, SECRET, any));
  assert.ok(await verifyWebhook(BODY, PLAIN, SECRET, any));
  const rotated = { "x-service-signature": "0".repeat(64), "x-service-signature-previous": PLAIN["X-Service-Signature"] };
  assert.ok(await verifyWebhook(BODY, rotated, SECRET, any));
  for (const signature of ["", "zz", "0".repeat(64), PLAIN["X-Service-Signature"].toUpperCase()]) {
    await assert.rejects(verifyWebhook(BODY, { "x-service-signature": signature }, SECRET, any), SignatureError);
  }
});

test("while a secret is rotated, either one is accepted, and either signature is enough", async () => {
  const key = Buffer.from(OTHER.slice(6), "base64");
  const signed = `${STANDARD["webhook-id"]}.${STANDARD["webhook-timestamp"]}.${BODY}`;
  const other = `v1,${createHmac("sha256", key).update(signed).digest("base64")}`;
  const both = { ...STANDARD, "webhook-signature": `${other} ${STANDARD["webhook-signature"]}` };
  for (const secrets of [SECRET, OTHER, [OTHER, SECRET], [SECRET, OTHER]]) {
    assert.ok(await verifyWebhook(BODY, both, secrets, NOW));
  }
  assert.ok(await verifyWebhook(BODY, STANDARD, [OTHER, SECRET], NOW));
  const listed = { ...STANDARD, "webhook-signature": [other, STANDARD["webhook-signature"]] };
  assert.ok(await verifyWebhook(BODY, listed, SECRET, NOW));
});

test("a text that is no signing secret is a mistake of the program", async () => {
  for (const secret of ["", "secret", "whsec_", "whsec_%"]) {
    await assert.rejects(verifyWebhook(BODY, STANDARD, secret, NOW), TypeError);
  }
});
