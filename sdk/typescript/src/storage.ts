// Where the tokens of a connection are kept, and the lock that lets one at a time refresh them.

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
export class ProcessLock implements Lock {
  #last: Promise<unknown> = Promise.resolve();

  hold<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work, work);
    this.#last = done.catch(() => undefined);
    return done;
  }
}

/** For tokens that several tabs or workers of a browser share. */
export class WebLock implements Lock {
  constructor(private readonly name: string) {}

  async hold<T>(work: () => Promise<T>): Promise<T> {
    return await navigator.locks.request(this.name, work);
  }
}

/** Tokens of this process only: in browsers, where tokens must not be persistent, and in tests. */
export class MemoryTokenStorage implements TokenStorage {
  readonly lock = new ProcessLock();
  #tokens: Tokens | null;

  constructor(tokens: Tokens | null = null) {
    this.#tokens = tokens;
  }

  async load(): Promise<Tokens | null> {
    return this.#tokens;
  }

  async save(tokens: Tokens | null): Promise<void> {
    this.#tokens = tokens;
  }
}
