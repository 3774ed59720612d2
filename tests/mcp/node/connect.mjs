// The official client: it prints the address for the merchant's browser, reads the callback, and calls a tool.
import { createInterface } from "node:readline/promises";
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from "@modelcontextprotocol/client";

const [url, clientId, callback] = process.argv.slice(2);
const lines = createInterface({ input: process.stdin });
let tokens;
let verifier;

const provider = {
  redirectUrl: callback,
  clientMetadata: { client_name: "tests", redirect_uris: [callback], token_endpoint_auth_method: "none" },
  state: () => "st-" + crypto.randomUUID(),
  clientInformation: () => ({ client_id: clientId }),
  tokens: () => tokens,
  saveTokens: (saved) => { tokens = saved; },
  saveCodeVerifier: (saved) => { verifier = saved; },
  codeVerifier: () => verifier,
  redirectToAuthorization: (address) => console.log(address.href),
};

const connect = async () => {
  const client = new Client({ name: "tests", version: "1.0.0" });
  const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: provider });
  try {
    await client.connect(transport);
    return client;
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
    const { value } = await lines[Symbol.asyncIterator]().next();
    await transport.finishAuth(new URL(value).searchParams);
    return connect();
  }
};

const client = await connect();
const { tools } = await client.listTools();
const result = await client.callTool({ name: "read", arguments: { operation: "account" } });
console.log(JSON.stringify({ tools: tools.map((tool) => tool.name), result }));
await client.close();
process.exit(0);
