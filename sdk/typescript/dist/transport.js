// Sending requests: attempts in time, repeated where that is safe, with errors as classes.
import { errorOf, NetworkError } from "./errors.js";
const MAX_DELAY_MS = 8_000;
const REPEATED = new Set([408, 429, 500, 502, 503, 504]);
export class Transport {
    #baseUrl;
    #options;
    constructor(baseUrl, options) {
        this.#baseUrl = baseUrl.replace(/\/+$/, "");
        this.#options = options;
    }
    get baseUrl() {
        return this.#baseUrl;
    }
    /** The response of success. Throws an `ApiError` or `NetworkError`, or the reason of `signal`. */
    async send(outgoing) {
        const { maxRetries = 4, retryDelayMs = 500, maxRetryAfterS = 60 } = this.#options;
        for (let attempt = 0;; attempt += 1) {
            const outcome = await this.#attempt(outgoing);
            if (!(outcome instanceof Error)) {
                return outcome;
            }
            const retryAfterS = ("retryAfterS" in outcome && outcome.retryAfterS) || 0;
            if (attempt >= maxRetries || retryAfterS > maxRetryAfterS || !mayRepeat(outgoing, outcome)) {
                throw outcome;
            }
            const backoff = Math.min(retryDelayMs * 2 ** attempt, MAX_DELAY_MS) * (0.5 + Math.random() / 2);
            await pause(Math.max(retryAfterS * 1000, backoff), outgoing.signal);
        }
    }
    async #attempt(outgoing) {
        const { method, url, headers, body, signal } = outgoing;
        const { fetch: send = fetch } = this.#options;
        const timeoutMs = outgoing.timeoutMs ?? this.#options.timeoutMs ?? 30_000;
        const ended = new AbortController();
        const end = () => ended.abort(signal?.reason);
        const timer = setTimeout(() => ended.abort(new Error(`No response within ${timeoutMs} ms.`)), timeoutMs);
        signal?.addEventListener("abort", end);
        try {
            signal?.throwIfAborted();
            const init = { method, headers, body: body ?? null, signal: ended.signal, redirect: "manual" };
            const response = await send(this.#baseUrl + url, init);
            return this.#read(outgoing, response, await response.text());
        }
        catch (cause) {
            signal?.throwIfAborted();
            const reason = ended.signal.aborted ? ended.signal.reason : cause;
            const message = reason instanceof Error ? reason.message : String(reason);
            return new NetworkError(`${method} ${url} got no response: ${message}`, headers["Idempotency-Key"], reason);
        }
        finally {
            clearTimeout(timer);
            signal?.removeEventListener("abort", end);
        }
    }
    #read(outgoing, response, text) {
        const { status, headers } = response;
        const body = parsed(text);
        if (response.ok && body !== undefined) {
            return { status, headers, body };
        }
        return errorOf({
            status,
            body: typeof body === "object" && body !== null ? body : {},
            docUrl: `${this.#baseUrl}/docs/api/errors`,
            retryAfterS: retryAfter(headers.get("Retry-After")),
            idempotencyKey: outgoing.headers["Idempotency-Key"],
        });
    }
}
/** An error that says that nothing was changed may be followed by the request again; a lost response only if it is repeatable. */
function mayRepeat(outgoing, error) {
    if (error instanceof NetworkError) {
        return outgoing.repeatable;
    }
    if (error.code === "idempotency_in_progress" || error.status === 429) {
        return true;
    }
    return outgoing.repeatable && REPEATED.has(error.status);
}
function parsed(text) {
    try {
        return JSON.parse(text);
    }
    catch {
        return undefined;
    }
}
/** Seconds of a `Retry-After`, which is a number or a date. */
function retryAfter(value) {
    if (value === null) {
        return undefined;
    }
    const seconds = /^\d+$/.test(value) ? Number(value) : (Date.parse(value) - Date.now()) / 1000;
    return Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
}
/** Wait, unless `signal` ends it. */
export async function pause(ms, signal) {
    await new Promise((resolve, reject) => {
        const end = () => {
            clearTimeout(timer);
            reject(signal?.reason);
        };
        const timer = setTimeout(() => {
            signal?.removeEventListener("abort", end);
            resolve();
        }, ms);
        signal?.addEventListener("abort", end, { once: true });
        if (signal?.aborted) {
            end();
        }
    });
}
