import type { RequestOptions } from "./options.js";
import type { Transport } from "./transport.js";
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
export declare class Api {
    private readonly transport;
    private readonly credential;
    constructor(transport: Transport, credential: Credential);
    /** Every POST has an idempotency key, which stays the same over retries and refreshes. */
    call<T>(method: string, path: string, options?: RequestOptions, parts?: CallParts): Promise<T>;
    list<Page, Item>(path: string, member: string, query: object, options?: RequestOptions): List<Page, Item>;
}
/** A list: `await` it for one page, or iterate over all its objects with `for await`. */
export declare class List<Page, Item> implements PromiseLike<Page>, AsyncIterable<Item> {
    private readonly read;
    private readonly member;
    constructor(read: (cursor: string | undefined) => Promise<Page>, member: string);
    then<A = Page, B = never>(onPage?: ((page: Page) => A | PromiseLike<A>) | null, onError?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<A | B>;
    /** The pages one after the other. */
    pages(): AsyncGenerator<Page, void>;
    [Symbol.asyncIterator](): AsyncGenerator<Item, void>;
}
