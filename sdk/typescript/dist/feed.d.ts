import type { Event } from "../types/schema.js";
import type { Api } from "./api.js";
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
/** The pages of the feed, each with the checkpoint of its end. Outages are waited for. */
export declare function feedPages(api: Api, options: FeedOptions): AsyncGenerator<{
    items: FeedItem[];
    end: FeedCheckpoint;
}, void>;
/** The events of the feed. */
export declare function feed(api: Api, options?: FeedOptions): AsyncGenerator<FeedItem, void>;
/**
 * Handle each event, then store the checkpoint: after a crash, events since the last checkpoint are handled again. A handler
 * that stores `item.checkpoint` in its own transaction, and whose `checkpoints.load` reads it there, handles each one once.
 */
export declare function consume(api: Api, handler: (item: FeedItem) => unknown, checkpoints: CheckpointStorage, options?: Omit<FeedOptions, "after">): Promise<void>;
