// Drives one OAuth client from npm: each line that comes in is a step with what it needs, each line that goes out says
// how it went. A client is a module with the steps discover, authorize, exchange, refresh and revoke.
import { createInterface } from "node:readline";

const client = await import(`./${process.argv[2]}.mjs`);

for await (const line of createInterface({ input: process.stdin })) {
  const { step, ...given } = JSON.parse(line);
  let answer;
  try {
    answer = { done: (await client[step](given)) ?? null };
  } catch (fault) {
    answer = { failed: `${fault.name}: ${fault.message}`, error: errorOf(fault) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}

// The OAuth error code, wherever this client puts it.
function errorOf(fault) {
  const challenge = Array.isArray(fault.cause) ? fault.cause[0]?.parameters?.error : undefined;
  return fault.error ?? challenge ?? fault.oauth2Code ?? fault.data?.payload?.error ?? null;
}
