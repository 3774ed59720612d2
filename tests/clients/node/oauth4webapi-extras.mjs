// oauth4webapi with what an application may choose: pushed requests, a named resource, introspection.
import * as oauth from "oauth4webapi";

const loopback = { [oauth.allowInsecureRequests]: true };
const verifier = oauth.generateRandomCodeVerifier();
const state = oauth.generateRandomState();
let server, client, proof, callback, resource, tokens;

export async function discover({ issuer, client_id, client_secret, method, redirect_uri }) {
  const named = new URL(`${issuer}/api/v2/integration`);
  const described = await oauth.resourceDiscoveryRequest(named, loopback);
  resource = (await oauth.processResourceDiscoveryResponse(named, described)).resource;
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
  const parameters = new URLSearchParams({
    response_type: "code",
    redirect_uri: callback,
    scope,
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    mode: "test",
    resource,
  });
  const response = await oauth.pushedAuthorizationRequest(server, client, proof, parameters, loopback);
  const { request_uri } = await oauth.processPushedAuthorizationResponse(server, client, response);
  const url = new URL(server.authorization_endpoint);
  url.search = new URLSearchParams({ client_id: client.client_id, request_uri });
  return url.href;
}

export async function exchange({ url }) {
  const answer = oauth.validateAuthResponse(server, client, new URL(url), state);
  const named = { additionalParameters: { resource }, ...loopback };
  const response = await oauth.authorizationCodeGrantRequest(server, client, proof, answer, callback, verifier, named);
  tokens = await oauth.processAuthorizationCodeResponse(server, client, response);
  return tokens;
}

export async function refresh() {
  const named = { additionalParameters: { resource }, ...loopback };
  const response = await oauth.refreshTokenGrantRequest(server, client, proof, tokens.refresh_token, named);
  tokens = await oauth.processRefreshTokenResponse(server, client, response);
  return tokens;
}

export async function introspect() {
  const response = await oauth.introspectionRequest(server, client, proof, tokens.access_token, loopback);
  return oauth.processIntrospectionResponse(server, client, response);
}

export async function revoke() {
  const response = await oauth.revocationRequest(server, client, proof, tokens.refresh_token, loopback);
  await oauth.processRevocationResponse(response);
}
