/** The tokens of a connection, as they are stored. All members are JSON. */
export interface Tokens {
    access_token: string;
    /** Milliseconds since 1970. */
    expires_at: number;
    /** The granted scopes, separated by spaces. */
    scope: string;
    refresh_token?: string;
    /** Idempotency key of a refresh that was begun: the same request is repeated with it. */
    refresh_key?: string;
}
/** Keeps the tokens of one connection. `save` returns when they are durable. */
export interface TokenStorage {
    load(): Promise<Tokens | null>;
    save(tokens: Tokens | null): Promise<void>;
    /** The lock of all who share these tokens. */
    readonly lock?: Lock;
}
/** Runs one piece of work at a time, among all who share the tokens. It must end when its holder dies. */
export interface Lock {
    hold<T>(work: () => Promise<T>): Promise<T>;
}
/** For tokens that one object of one process uses. */
export declare class ProcessLock implements Lock {
    #private;
    hold<T>(work: () => Promise<T>): Promise<T>;
}
/** For tokens that several tabs or workers of a browser share. */
export declare class WebLock implements Lock {
    private readonly name;
    constructor(name: string);
    hold<T>(work: () => Promise<T>): Promise<T>;
}
/** Tokens of this process only: in browsers, where tokens must not be persistent, and in tests. */
export declare class MemoryTokenStorage implements TokenStorage {
    #private;
    readonly lock: ProcessLock;
    constructor(tokens?: Tokens | null);
    load(): Promise<Tokens | null>;
    save(tokens: Tokens | null): Promise<void>;
}
