// simple-oauth2. It knows neither metadata nor PKCE: it is given the endpoints and the challenge, and passes them on.
import { createHash, randomBytes } from "node:crypto";
import { AuthorizationCode } from "simple-oauth2";

const verifier = randomBytes(32).toString("base64url");
const state = randomBytes(16).toString("base64url");
let client, callback, tokens;

export async function discover({ issuer, client_id, client_secret, method, redirect_uri }) {
  const metadata = await (await fetch(`${issuer}/.well-known/oauth-authorization-server`)).json();
  const path = (endpoint) => new URL(endpoint).pathname;
  client = new AuthorizationCode({
    client: { id: client_id, secret: client_secret ?? "" },
    auth: {
      tokenHost: metadata.issuer,
      tokenPath: path(metadata.token_endpoint),
      authorizePath: path(metadata.authorization_endpoint),
      revokePath: path(metadata.revocation_endpoint),
    },
    options: { authorizationMethod: method === "basic" ? "header" : "body" },
  });
  callback = redirect_uri;
  return metadata.issuer;
}

export function authorize({ scope }) {
  const challenge = createHash("sha256").update(verifier).digest("base64url");
  return client.authorizeURL({
    redirect_uri: callback,
    scope,
    state,
    code_challenge: challenge,
    code_challenge_method: "S256",
    mode: "test",
  });
}

export async function exchange({ url }) {
  const answer = new URL(url).searchParams;
  if (answer.get("state") !== state) throw new Error("not our state");
  if (answer.has("error")) throw Object.assign(new Error("refused"), { error: answer.get("error") });
  tokens = await client.getToken({ code: answer.get("code"), redirect_uri: callback, code_verifier: verifier });
  return tokens.token;
}

export async function refresh() {
  tokens = await tokens.refresh();
  return tokens.token;
}

// Posts two revocations: of the access token, then of the refresh token of a connection that has ended.
export async function revoke() {
  await tokens.revokeAll();
}
