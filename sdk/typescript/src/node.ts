// Files of Node: tokens and checkpoints that survive a crash, and a lock that ends with its holder.

import { createHash } from "node:crypto";
import { open, readFile, rename, type FileHandle } from "node:fs/promises";
import { createServer } from "node:net";
import { dirname, resolve } from "node:path";
import type { CheckpointStorage, FeedCheckpoint } from "./feed.js";
import type { Lock, Tokens, TokenStorage } from "./storage.js";

const POLL_MS = 20;
/** `O_EXLOCK | O_NONBLOCK | O_CREAT` of macOS and the BSDs. */
const EXCLUSIVE = 0x20 | 0x4 | 0x200;

/** A JSON value in a file that only its owner can read. It is replaced at once, and durable when `save` returns. */
class JsonFile<T> {
  readonly #path: string;

  constructor(path: string) {
    this.#path = resolve(path);
  }

  async load(): Promise<T | null> {
    try {
      return JSON.parse(await readFile(this.#path, "utf8")) as T | null;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") {
        return null;
      }
      throw error;
    }
  }

  async save(value: T | null): Promise<void> {
    const written = `${this.#path}.${process.pid}.new`;
    const file = await open(written, "w", 0o600);
    await synced(file, () => file.writeFile(JSON.stringify(value)));
    await rename(written, this.#path);
    if (process.platform !== "win32") {
      await synced(await open(dirname(this.#path), "r"), async () => undefined);
    }
  }
}

async function synced(file: FileHandle, write: () => Promise<void>): Promise<void> {
  try {
    await write();
    await file.sync();
  } finally {
    await file.close();
  }
}

/** The tokens of a connection in a file, for all processes of one machine. */
export class FileTokenStorage extends JsonFile<Tokens> implements TokenStorage {
  readonly lock: Lock;

  constructor(path: string) {
    super(path);
    this.lock = new FileLock(path);
  }
}

/** The checkpoint of a reader of the event feed in a file. */
export class FileCheckpoint extends JsonFile<FeedCheckpoint> implements CheckpointStorage {}

/**
 * One holder at a time for a path, among the processes of one machine (one network namespace). The operating system ends the
 * lock with its holder, however that ends: it is a socket without a file on Linux, a named pipe on Windows, and the lock of
 * an open file elsewhere. For several machines, implement `Lock` with your database.
 */
export class FileLock implements Lock {
  readonly #path: string;

  constructor(path: string) {
    this.#path = resolve(path);
  }

  async hold<T>(work: () => Promise<T>): Promise<T> {
    const release = await this.#acquire();
    try {
      return await work();
    } finally {
      await release();
    }
  }

  async #acquire(): Promise<() => Promise<void>> {
    const name = createHash("sha256").update(this.#path).digest("hex");
    const start = { linux: "\0tollhouse-", win32: "\\\\.\\pipe\\tollhouse-" }[process.platform as string];
    for (;;) {
      const release = await (start === undefined ? lockFile(`${this.#path}.lock`) : listen(start + name));
      if (release !== null) {
        return release;
      }
      await new Promise((done) => setTimeout(done, POLL_MS * (0.5 + Math.random())));
    }
  }
}

/** Listen at an address that one socket can have. */
function listen(path: string): Promise<(() => Promise<void>) | null> {
  return new Promise((done, fail) => {
    const server = createServer((socket) => socket.destroy());
    server.once("error", (error: NodeJS.ErrnoException) => (error.code === "EADDRINUSE" ? done(null) : fail(error)));
    server.listen(path, () => done(() => new Promise((closed) => server.close(() => closed()))));
  });
}

async function lockFile(path: string): Promise<(() => Promise<void>) | null> {
  try {
    const file = await open(path, EXCLUSIVE, 0o600);
    return () => file.close();
  } catch (error) {
    if (["EAGAIN", "EWOULDBLOCK"].includes((error as NodeJS.ErrnoException).code ?? "")) {
      return null;
    }
    throw error;
  }
}
