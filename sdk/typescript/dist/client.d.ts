import { type Credential } from "./api.js";
import { type CheckpointStorage, type FeedItem, type FeedOptions } from "./feed.js";
import type { TransportOptions } from "./options.js";
import { Resources } from "./resources.js";
/** Address and credential: an API key (on servers only), or the connection of a merchant. */
export type TollhouseOptions = TransportOptions & {
    baseUrl: string;
} & ({
    apiKey: string;
} | {
    connection: Credential;
});
export declare class Tollhouse extends Resources {
    #private;
    constructor(options: TollhouseOptions);
    /** The events in order, with `for await`. */
    feed(options?: FeedOptions): AsyncGenerator<FeedItem, void>;
    /** Handle the events in order, from the stored checkpoint on, until `signal` ends it. */
    consume(handler: (item: FeedItem) => unknown, checkpoints: CheckpointStorage, options?: Omit<FeedOptions, "after">): Promise<void>;
}
