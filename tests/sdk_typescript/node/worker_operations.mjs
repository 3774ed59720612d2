// Calls every operation in a worker.

import { callEverything } from "./operations.mjs";

export default { test: callEverything };
