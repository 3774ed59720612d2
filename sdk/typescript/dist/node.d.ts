import type { CheckpointStorage, FeedCheckpoint } from "./feed.js";
import type { Lock, Tokens, TokenStorage } from "./storage.js";
/** A JSON value in a file that only its owner can read. It is replaced at once, and durable when `save` returns. */
declare class JsonFile<T> {
    #private;
    constructor(path: string);
    load(): Promise<T | null>;
    save(value: T | null): Promise<void>;
}
/** The tokens of a connection in a file, for all processes of one machine. */
export declare class FileTokenStorage extends JsonFile<Tokens> implements TokenStorage {
    readonly lock: Lock;
    constructor(path: string);
}
/** The checkpoint of a reader of the event feed in a file. */
export declare class FileCheckpoint extends JsonFile<FeedCheckpoint> implements CheckpointStorage {
}
/**
 * One holder at a time for a path, among the processes of one machine (one network namespace). The operating system ends the
 * lock with its holder, however that ends: it is a socket without a file on Linux, a named pipe on Windows, and the lock of
 * an open file elsewhere. For several machines, implement `Lock` with your database.
 */
export declare class FileLock implements Lock {
    #private;
    constructor(path: string);
    hold<T>(work: () => Promise<T>): Promise<T>;
}
export {};
