// The client: all operations of the Integration API for one merchant and mode.

import { Api, type Credential } from "./api.js";
import { consume, feed, type CheckpointStorage, type FeedItem, type FeedOptions } from "./feed.js";
import type { TransportOptions } from "./options.js";
import { Resources } from "./resources.js";
import { Transport } from "./transport.js";

/** Address and credential: an API key (on servers only), or the connection of a merchant. */
export type TollhouseOptions = TransportOptions & { baseUrl: string } & ({ apiKey: string } | { connection: Credential });

export class Tollhouse extends Resources {
  readonly #api: Api;

  constructor(options: TollhouseOptions) {
    const credential = "apiKey" in options ? new ApiKey(options.apiKey) : options.connection;
    const api = new Api(new Transport(options.baseUrl, options), credential);
    super(api);
    this.#api = api;
  }

  /** The events in order, with `for await`. */
  feed(options?: FeedOptions): AsyncGenerator<FeedItem, void> {
    return feed(this.#api, options);
  }

  /** Handle the events in order, from the stored checkpoint on, until `signal` ends it. */
  consume(
    handler: (item: FeedItem) => unknown,
    checkpoints: CheckpointStorage,
    options?: Omit<FeedOptions, "after">,
  ): Promise<void> {
    return consume(this.#api, handler, checkpoints, options);
  }
}

class ApiKey implements Credential {
  constructor(private readonly key: string) {}

  async headers(): Promise<Record<string, string>> {
    return { "X-API-Key": this.key };
  }

  async renew(): Promise<boolean> {
    return false;
  }
}
