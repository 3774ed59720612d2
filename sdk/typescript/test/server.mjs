// A server that responds as a test says, and records what it was sent.

import { createServer } from "node:http";

/** `respond` gets a request and its number; it returns `[status, body, headers]`, or "drop" to close without a response. */
export async function serve(test, respond) {
  const requests = [];
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) {
      chunks.push(chunk);
    }
    const { method, url, headers } = request;
    const received = { method, url, headers, body: Buffer.concat(chunks).toString() };
    requests.push(received);
    const answer = await respond(received, requests.length);
    if (answer === "drop") {
      request.socket.destroy();
      return;
    }
    const [status, body, more = {}] = answer;
    response.writeHead(status, { "Content-Type": "application/json", ...more });
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  test.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${server.address().port}`, requests };
}

/** An error body. */
export const errorBody = (error, more = {}) => ({ error, error_description: `It is ${error}.`, request_id: "r-1", ...more });
