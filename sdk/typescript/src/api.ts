// Calls of the Integration API, and lists that are read page by page.

import { randomText } from "./encoding.js";
import { AuthenticationError } from "./errors.js";
import type { RequestOptions } from "./options.js";
import type { Transport } from "./transport.js";

const ROOT = "/api/v2/integration";

/** What a request is authenticated with. */
export interface Credential {
  headers(): Promise<Record<string, string>>;
  /** After a 401: whether there are other headers now, so that the request is worth sending again. */
  renew(rejected: Record<string, string>): Promise<boolean>;
}

export interface CallParts {
  body?: unknown;
  query?: object;
  /** The response shows a secret once, so the request is not repeated when its response was lost. */
  once?: boolean;
}

export class Api {
  constructor(
    private readonly transport: Transport,
    private readonly credential: Credential,
  ) {}

  /** Every POST has an idempotency key, which stays the same over retries and refreshes. */
  async call<T>(method: string, path: string, options: RequestOptions = {}, parts: CallParts = {}): Promise<T> {
    const { body, query = {}, once = false } = parts;
    const headers: Record<string, string> = {};
    if (method === "POST" && !once) {
      headers["Idempotency-Key"] = options.idempotencyKey ?? randomText();
    }
    if (body !== undefined) {
      headers["Content-Type"] = "application/json";
    }
    const outgoing = {
      method,
      url: `${ROOT}${path}${encoded(query)}`,
      body: body === undefined ? undefined : JSON.stringify(body),
      repeatable: !once,
      signal: options.signal,
      timeoutMs: options.timeoutMs,
    };
    const credential = await this.credential.headers();
    try {
      return (await this.transport.send({ ...outgoing, headers: { ...headers, ...credential } })).body as T;
    } catch (error) {
      if (!(error instanceof AuthenticationError) || !(await this.credential.renew(credential))) {
        throw error;
      }
    }
    const renewed = await this.credential.headers();
    return (await this.transport.send({ ...outgoing, headers: { ...headers, ...renewed } })).body as T;
  }

  list<Page, Item>(path: string, member: string, query: object, options?: RequestOptions): List<Page, Item> {
    return new List((cursor) => {
      const { page, ...others } = query as { page?: number };
      return this.call("GET", path, options, { query: cursor === undefined ? query : { ...others, cursor } });
    }, member);
  }
}

/** A list: `await` it for one page, or iterate over all its objects with `for await`. */
export class List<Page, Item> implements PromiseLike<Page>, AsyncIterable<Item> {
  constructor(
    private readonly read: (cursor: string | undefined) => Promise<Page>,
    private readonly member: string,
  ) {}

  then<A = Page, B = never>(
    onPage?: ((page: Page) => A | PromiseLike<A>) | null,
    onError?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.read(undefined).then(onPage, onError);
  }

  /** The pages one after the other. */
  async *pages(): AsyncGenerator<Page, void> {
    let cursor: string | undefined;
    do {
      const page = await this.read(cursor);
      yield page;
      cursor = (page as { next_cursor?: string | null }).next_cursor ?? undefined;
    } while (cursor !== undefined);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void> {
    for await (const page of this.pages()) {
      yield* (page as Record<string, Item[]>)[this.member] ?? [];
    }
  }
}

/** The query of an address. An array is a parameter that is repeated; `undefined` and `null` are left out. */
function encoded(query: object): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null) {
        parameters.append(name, String(one));
      }
    }
  }
  const text = parameters.toString();
  return text && `?${text}`;
}
