// The event feed: all events of a merchant in order, without a public URL, from where a checkpoint says.

import type { Event } from "../types/schema.js";
import type { Api } from "./api.js";
import { ApiError, EventsExpiredError, FeedResetError, NetworkError, RateLimitError, ServerError } from "./errors.js";
import { pause } from "./transport.js";
import { parseEvent } from "./webhooks.js";

const OUTAGE_MS = 5_000;

/** How far the feed was read: everything up to `position` was handled. */
export interface FeedCheckpoint {
  feedId: string;
  position: number;
}

/** Keeps the checkpoint of one reader. `save` returns when it is durable. */
export interface CheckpointStorage {
  load(): Promise<FeedCheckpoint | null>;
  save(checkpoint: FeedCheckpoint): Promise<void>;
}

/** An event of the feed. Where you store what you made of it, store its checkpoint in the same transaction. */
export interface FeedItem {
  event: Event;
  checkpoint: FeedCheckpoint;
  /** The exact text that webhooks deliver, with its signature headers. */
  body: string;
  headers: Record<string, string>;
}

export interface FeedOptions {
  /** Where to go on; without it, from the first event that is kept. */
  after?: FeedCheckpoint | null | undefined;
  /** Only these types. */
  types?: Event["type"][] | undefined;
  /** How long the service waits for new events, at most 30. The default is 30. */
  waitS?: number | undefined;
  /** Events of one request, at most 100. The default is 100. */
  limit?: number | undefined;
  /** Whether to go on when everything was read. The default is true. */
  follow?: boolean | undefined;
  /** Ends the reading, without an error. */
  signal?: AbortSignal | undefined;
}

interface FeedPage {
  feed_id: string;
  events: { position: number; body: string; headers: Record<string, string> }[];
  next: number;
  has_more: boolean;
}

/** The pages of the feed, each with the checkpoint of its end. Outages are waited for. */
export async function* feedPages(api: Api, options: FeedOptions): AsyncGenerator<{ items: FeedItem[]; end: FeedCheckpoint }, void> {
  const { types, waitS = 30, limit = 100, follow = true, signal } = options;
  let at = options.after ?? null;
  for (let more = true; more || follow; ) {
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
export async function* feed(api: Api, options: FeedOptions = {}): AsyncGenerator<FeedItem, void> {
  for await (const { items } of feedPages(api, options)) {
    yield* items;
  }
}

/**
 * Handle each event, then store the checkpoint: after a crash, events since the last checkpoint are handled again. A handler
 * that stores `item.checkpoint` in its own transaction, and whose `checkpoints.load` reads it there, handles each one once.
 */
export async function consume(
  api: Api,
  handler: (item: FeedItem) => unknown,
  checkpoints: CheckpointStorage,
  options: Omit<FeedOptions, "after"> = {},
): Promise<void> {
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

async function readPage(api: Api, query: object, timeoutMs: number, signal?: AbortSignal): Promise<FeedPage | null> {
  for (;;) {
    try {
      signal?.throwIfAborted();
      return await api.call<FeedPage>("GET", "/events", { signal, timeoutMs }, { query });
    } catch (error) {
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

function isOutage(error: unknown): boolean {
  return error instanceof NetworkError || error instanceof ServerError || error instanceof RateLimitError;
}

function explained(error: unknown): unknown {
  if (error instanceof ApiError && error.code === "feed_reset") {
    return new FeedResetError(`${error.description} Start without a checkpoint, and compare with what you have.`, { cause: error });
  }
  if (error instanceof ApiError && error.code === "events_expired") {
    return new EventsExpiredError(Number(error.details["oldest"]), error.description, error);
  }
  return error;
}
