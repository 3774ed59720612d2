// Calls of the Integration API, and lists that are read page by page.
import { randomText } from "./encoding.js";
import { AuthenticationError } from "./errors.js";
const ROOT = "/api/v2/integration";
export class Api {
    transport;
    credential;
    constructor(transport, credential) {
        this.transport = transport;
        this.credential = credential;
    }
    /** Every POST has an idempotency key, which stays the same over retries and refreshes. */
    async call(method, path, options = {}, parts = {}) {
        const { body, query = {}, once = false } = parts;
        const headers = {};
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
            return (await this.transport.send({ ...outgoing, headers: { ...headers, ...credential } })).body;
        }
        catch (error) {
            if (!(error instanceof AuthenticationError) || !(await this.credential.renew(credential))) {
                throw error;
            }
        }
        const renewed = await this.credential.headers();
        return (await this.transport.send({ ...outgoing, headers: { ...headers, ...renewed } })).body;
    }
    list(path, member, query, options) {
        return new List((cursor) => {
            const { page, ...others } = query;
            return this.call("GET", path, options, { query: cursor === undefined ? query : { ...others, cursor } });
        }, member);
    }
}
/** A list: `await` it for one page, or iterate over all its objects with `for await`. */
export class List {
    read;
    member;
    constructor(read, member) {
        this.read = read;
        this.member = member;
    }
    then(onPage, onError) {
        return this.read(undefined).then(onPage, onError);
    }
    /** The pages one after the other. */
    async *pages() {
        let cursor;
        do {
            const page = await this.read(cursor);
            yield page;
            cursor = page.next_cursor ?? undefined;
        } while (cursor !== undefined);
    }
    async *[Symbol.asyncIterator]() {
        for await (const page of this.pages()) {
            yield* page[this.member] ?? [];
        }
    }
}
/** The query of an address. An array is a parameter that is repeated; `undefined` and `null` are left out. */
function encoded(query) {
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
