import type { Event } from "../types/schema.js";
/** Headers of a request: those of `fetch`, of Node's `http`, or a plain object. */
export type HeadersLike = Headers | Record<string, string | string[] | undefined>;
export interface VerifyOptions {
    /**
     * How old a delivery may be, which prevents replays; the default is 300. `null` accepts any age, and deliveries of which
     * only `X-Service-Signature` or `X-Service-Signature-Previous` is left.
     */
    toleranceS?: number | null | undefined;
    /** Milliseconds since 1970, instead of the clock. */
    now?: number | undefined;
}
/**
 * The event of a webhook, if it is genuine. `body` is the raw body. `secrets` are one or several signing secrets exactly as
 * they were shown; with two, both are accepted while a secret is rotated. Throws a `SignatureError`.
 */
export declare function verifyWebhook(body: string | Uint8Array, headers: HeadersLike, secrets: string | readonly string[], options?: VerifyOptions): Promise<Event>;
/** An event from text that is known to be genuine, such as that of the event feed. */
export declare function parseEvent(body: string | Uint8Array): Event;
