// oauth4webapi: the strictest client. It wants the issuer in the callback, and a 200 from the revoke endpoint.
import * as oauth from "oauth4webapi";

const loopback = { [oauth.allowInsecureRequests]: true };
const verifier = oauth.generateRandomCodeVerifier();
const state = oauth.generateRandomState();
let server, client, proof, callback, tokens;

export async function discover({ issuer, client_id, client_secret, method, redirect_uri }) {
  const url = new URL(issuer);
  const response = await oauth.discoveryRequest(url, { algorithm: "oauth2", ...loopback });
  server = await oauth.processDiscoveryResponse(url, response);
  client = { client_id };
  const proofs = { basic: oauth.ClientSecretBasic, body: oauth.ClientSecretPost, none: oauth.None };
  proof = proofs[method](client_secret);
  callback = redirect_uri;
  return server.issuer;
}

export async function authorize({ scope }) {
  const url = new URL(server.authorization_endpoint);
  url.search = new URLSearchParams({
    response_type: "code",
    client_id: client.client_id,
    redirect_uri: callback,
    scope,
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    mode: "test",
  });
  return url.href;
}

export async function exchange({ url }) {
  const answer = oauth.validateAuthResponse(server, client, new URL(url), state);
  const response = await oauth.authorizationCodeGrantRequest(server, client, proof, answer, callback, verifier, loopback);
  tokens = await oauth.processAuthorizationCodeResponse(server, client, response);
  return tokens;
}

export async function refresh() {
  const response = await oauth.refreshTokenGrantRequest(server, client, proof, tokens.refresh_token, loopback);
  tokens = await oauth.processRefreshTokenResponse(server, client, response);
  return tokens;
}

export async function revoke() {
  const response = await oauth.revocationRequest(server, client, proof, tokens.refresh_token, loopback);
  await oauth.processRevocationResponse(response);
}
