// Verifies deliveries with the libraries for webhooks from npm: each line that comes in is a delivery, with a secret and the
// name of a library; each line that goes out says whether it is genuine.
import { createInterface } from "node:readline";
import * as standardwebhooks from "standardwebhooks";
import * as svix from "svix";

const libraries = { standardwebhooks, svix };

for await (const line of createInterface({ input: process.stdin })) {
  const { library, secret, body, headers } = JSON.parse(line);
  let genuine = true;
  try {
    new libraries[library].Webhook(secret).verify(body, headers);
  } catch (fault) {
    if (!fault.name.includes("Verification")) {
      throw fault;
    }
    genuine = false;
  }
  process.stdout.write(`${JSON.stringify(genuine)}\n`);
}
