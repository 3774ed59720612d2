// Where the tokens of a connection are kept, and the lock that lets one at a time refresh them.
/** For tokens that one object of one process uses. */
export class ProcessLock {
    #last = Promise.resolve();
    hold(work) {
        const done = this.#last.then(work, work);
        this.#last = done.catch(() => undefined);
        return done;
    }
}
/** For tokens that several tabs or workers of a browser share. */
export class WebLock {
    name;
    constructor(name) {
        this.name = name;
    }
    async hold(work) {
        return await navigator.locks.request(this.name, work);
    }
}
/** Tokens of this process only: in browsers, where tokens must not be persistent, and in tests. */
export class MemoryTokenStorage {
    lock = new ProcessLock();
    #tokens;
    constructor(tokens = null) {
        this.#tokens = tokens;
    }
    async load() {
        return this.#tokens;
    }
    async save(tokens) {
        this.#tokens = tokens;
    }
}
