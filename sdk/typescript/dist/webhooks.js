// Verification of webhooks, with Web Crypto.
import { fromBase64, fromHex, utf8 } from "./encoding.js";
import { SignatureError } from "./errors.js";
const TOLERANCE_S = 300;
const PREFIX = "whsec_";
/**
 * The event of a webhook, if it is genuine. `body` is the raw body. `secrets` are one or several signing secrets exactly as
 * they were shown; with two, both are accepted while a secret is rotated. Throws a `SignatureError`.
 */
export async function verifyWebhook(body, headers, secrets, options = {}) {
    const { toleranceS = TOLERANCE_S, now = Date.now() } = options;
    const bytes = typeof body === "string" ? utf8(body) : new Uint8Array(body);
    const get = (name) => headerOf(headers, name);
    const genuine = typeof secrets === "string" ? [secrets] : secrets;
    const timestamp = get("webhook-timestamp") ?? "";
    if (toleranceS !== null && !(Math.abs(now / 1000 - (/^\d+$/.test(timestamp) ? Number(timestamp) : NaN)) <= toleranceS)) {
        throw new SignatureError(`webhook-timestamp is not within ${toleranceS} seconds of now.`);
    }
    const signed = concat(utf8(`${get("webhook-id") ?? ""}.${timestamp}.`), bytes);
    const standard = (get("webhook-signature") ?? "").split(" ").filter((one) => one.startsWith("v1,"));
    const plain = toleranceS === null ? [get("x-service-signature"), get("x-service-signature-previous")] : [];
    for (const secret of genuine) {
        const decoded = secret.startsWith(PREFIX) ? fromBase64(secret.slice(PREFIX.length)) : null;
        if (decoded === null || decoded.length === 0) {
            throw new TypeError("A signing secret begins with whsec_ and is given exactly as it was shown.");
        }
        const byStandard = standard.map((one) => isSignature(decoded, fromBase64(one.slice(3)), signed));
        const byService = plain.map((one) => isSignature(utf8(secret), fromHex(one ?? ""), bytes));
        if ((await Promise.all([...byStandard, ...byService])).includes(true)) {
            return parseEvent(bytes);
        }
    }
    throw new SignatureError("No signature of the webhook is that of the signing secret.");
}
/** An event from text that is known to be genuine, such as that of the event feed. */
export function parseEvent(body) {
    return JSON.parse(typeof body === "string" ? body : new TextDecoder().decode(body));
}
/** Compared in constant time, by Web Crypto. */
async function isSignature(secret, signature, message) {
    if (signature === null) {
        return false;
    }
    const key = await crypto.subtle.importKey("raw", secret, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
    return crypto.subtle.verify("HMAC", key, signature, message);
}
function headerOf(headers, name) {
    if (headers instanceof Headers) {
        return headers.get(name) ?? undefined;
    }
    const value = Object.entries(headers).find(([one]) => one.toLowerCase() === name)?.[1];
    return Array.isArray(value) ? value.join(" ") : value;
}
function concat(start, end) {
    const whole = new Uint8Array(start.length + end.length);
    whole.set(start);
    whole.set(end, start.length);
    return whole;
}
