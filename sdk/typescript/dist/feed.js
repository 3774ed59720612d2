// The event feed: all events of a merchant in order, without a public URL, from where a checkpoint says.
import { ApiError, EventsExpiredError, FeedResetError, NetworkError, RateLimitError, ServerError } from "./errors.js";
import { pause } from "./transport.js";
import { parseEvent } from "./webhooks.js";
const OUTAGE_MS = 5_000;
/** The pages of the feed, each with the checkpoint of its end. Outages are waited for. */
export async function* feedPages(api, options) {
    const { types, waitS = 30, limit = 100, follow = true, signal } = options;
    let at = options.after ?? null;
    for (let more = true; more || follow;) {
        const query = { after: at?.position, feed_id: at?.feedId, types: types?.join(","), limit, wait: follow ? waitS : 0 };
        const page = await readPage(api, query, (waitS + 30) * 1000, signal);
        if (page === null) {
            return;
        }
        const feedId = page.feed_id;
        const items = page.events.map(({ position, body, headers }) => ({
            event: parseEvent(body),
            checkpoint: { feedId, position },
            body,
            headers,
        }));
        at = { feedId, position: page.next };
        more = page.has_more;
        yield { items, end: at };
    }
}
/** The events of the feed. */
export async function* feed(api, options = {}) {
    for await (const { items } of feedPages(api, options)) {
        yield* items;
    }
}
/**
 * Handle each event, then store the checkpoint: after a crash, events since the last checkpoint are handled again. A handler
 * that stores `item.checkpoint` in its own transaction, and whose `checkpoints.load` reads it there, handles each one once.
 */
export async function consume(api, handler, checkpoints, options = {}) {
    const after = await checkpoints.load();
    let stored = after?.position;
    for await (const { items, end } of feedPages(api, { ...options, after })) {
        for (const item of items) {
            if (options.signal?.aborted) {
                return;
            }
            await handler(item);
            await checkpoints.save(item.checkpoint);
            stored = item.checkpoint.position;
        }
        if (stored !== end.position) {
            await checkpoints.save(end);
            stored = end.position;
        }
    }
}
async function readPage(api, query, timeoutMs, signal) {
    for (;;) {
        try {
            signal?.throwIfAborted();
            return await api.call("GET", "/events", { signal, timeoutMs }, { query });
        }
        catch (error) {
            if (signal?.aborted) {
                return null;
            }
            if (!isOutage(error)) {
                throw explained(error);
            }
            await pause(OUTAGE_MS, signal).catch(() => undefined);
        }
    }
}
function isOutage(error) {
    return error instanceof NetworkError || error instanceof ServerError || error instanceof RateLimitError;
}
function explained(error) {
    if (error instanceof ApiError && error.code === "feed_reset") {
        return new FeedResetError(`${error.description} Start without a checkpoint, and compare with what you have.`, { cause: error });
    }
    if (error instanceof ApiError && error.code === "events_expired") {
        return new EventsExpiredError(Number(error.details["oldest"]), error.description, error);
    }
    return error;
}
