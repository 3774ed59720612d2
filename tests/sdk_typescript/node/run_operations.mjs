// Calls every operation in Node, Deno or Bun.

import { callEverything } from "./operations.mjs";

await callEverything();
