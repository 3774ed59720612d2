// Files and file locks of Node: durable, private, and free again when their holder is killed.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { FileCheckpoint, FileLock, FileTokenStorage } from "../dist/node.js";

const MODULE = new URL("../dist/node.js", import.meta.url);

async function folder(t) {
  const path = await mkdtemp(join(tmpdir(), "tollhouse-"));
  t.after(() => rm(path, { recursive: true }));
  return path;
}

test("tokens and checkpoints are in a file of their owner", async (t) => {
  const path = await folder(t);
  const storage = new FileTokenStorage(join(path, "tokens.json"));
  assert.equal(await storage.load(), null);
  const tokens = { access_token: "a", expires_at: 1, scope: "", refresh_key: "k" };
  await storage.save(tokens);
  assert.deepEqual(await new FileTokenStorage(join(path, "tokens.json")).load(), tokens);
  assert.equal((await stat(join(path, "tokens.json"))).mode & 0o777, 0o600);
  await storage.save(null);
  assert.equal(await storage.load(), null);
  const checkpoint = new FileCheckpoint(join(path, "checkpoint.json"));
  await checkpoint.save({ feedId: "f", position: 3 });
  assert.deepEqual(await checkpoint.load(), { feedId: "f", position: 3 });
  assert.deepEqual((await readdir(path)).sort(), ["checkpoint.json", "tokens.json"]);
  await writeFile(join(path, "tokens.json"), "{");
  await assert.rejects(storage.load(), SyntaxError);
  await assert.rejects(new FileTokenStorage(path).load(), { code: "EISDIR" });
});

test("one at a time holds a lock", async (t) => {
  const path = join(await folder(t), "tokens.json");
  let holders = 0;
  const work = async () => {
    holders += 1;
    assert.equal(holders, 1);
    await new Promise((done) => setTimeout(done, 5));
    holders -= 1;
    return "done";
  };
  const results = await Promise.all(Array.from({ length: 8 }, () => new FileLock(path).hold(work)));
  assert.deepEqual([...new Set(results)], ["done"]);
  await assert.rejects(new FileLock(path).hold(() => Promise.reject(new Error("no"))), { message: "no" });
  assert.equal(await new FileLock(path).hold(async () => 1), 1);
});

test("the lock of a process that is killed is free", async (t) => {
  const path = join(await folder(t), "tokens.json");
  const held = `const { FileLock } = await import(process.argv[1]); await new FileLock(process.argv[2]).hold(() => new Promise(() => {
    console.log("held"); setInterval(() => undefined, 1000); }));`;
  const holder = spawn(process.execPath, ["--input-type=module", "-e", held, MODULE, path]);
  await new Promise((done) => holder.stdout.once("data", done));
  let free = false;
  const waiting = new FileLock(path).hold(async () => void (free = true));
  await new Promise((done) => setTimeout(done, 60));
  assert.equal(free, false);
  holder.kill("SIGKILL");
  await waiting;
  assert.ok(free);
});

test("other systems lock an open file or a named pipe", async (t) => {
  const platform = Object.getOwnPropertyDescriptor(process, "platform");
  t.after(() => Object.defineProperty(process, "platform", platform));
  const path = await folder(t);
  Object.defineProperty(process, "platform", { value: "darwin" });
  const there = new FileLock(join(path, "missing", "tokens.json"));
  await assert.rejects(there.hold(async () => undefined));
  Object.defineProperty(process, "platform", { value: "win32" });
  await new FileTokenStorage(join(path, "tokens.json")).save(null);
});

test("an address that cannot be listened at is an error", async (t) => {
  t.mock.method(createServer().constructor.prototype, "listen", function () {
    this.emit("error", Object.assign(new Error("denied"), { code: "EACCES" }));
  });
  await assert.rejects(new FileLock("x").hold(async () => undefined), { code: "EACCES" });
});
