// oauth4webapi: the strictest client. It wants the issuer in the callback, and a 200 from the revoke endpoint. With
// `extras` it does what an application may choose: a named resource, pushed requests, limits, tokens bound to a key.
import * as oauth from "oauth4webapi";
import { importedKey } from "./keys.mjs";

const loopback = { [oauth.allowInsecureRequests]: true };
const verifier = oauth.generateRandomCodeVerifier();
const state = oauth.generateRandomState();
let server, client, proof, callback, tokens, extras, device;
let bound = loopback;
let named = {};

export async function discover({ issuer, client_id, client_secret, method, redirect_uri, key, extras: chosen }) {
  const url = new URL(issuer);
  const response = await oauth.discoveryRequest(url, { algorithm: "oauth2", ...loopback });
  server = await oauth.processDiscoveryResponse(url, response);
  client = { client_id };
  const proofs = { basic: oauth.ClientSecretBasic, body: oauth.ClientSecretPost, none: oauth.None };
  proof = method === "keys" ? oauth.PrivateKeyJwt(await importedKey(key)) : proofs[method](client_secret);
  callback = redirect_uri;
  extras = chosen;
  if (extras) {
    const resource = new URL(`${issuer}/api/v2/integration`);
    const described = await oauth.resourceDiscoveryRequest(resource, loopback);
    named = { resource: (await oauth.processResourceDiscoveryResponse(resource, described)).resource };
    bound = { DPoP: oauth.DPoP(client, await oauth.generateKeyPair("ES256")), ...loopback };
  }
  return server.issuer;
}

export async function authorize({ scope, details }) {
  const parameters = new URLSearchParams({
    response_type: "code",
    client_id: client.client_id,
    redirect_uri: callback,
    scope,
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    mode: "test",
    ...named,
    ...(details ? { authorization_details: details } : {}),
  });
  const url = new URL(server.authorization_endpoint);
  url.search = extras ? await pushed(parameters) : parameters;
  return url.href;
}

async function pushed(parameters) {
  const response = await oauth.pushedAuthorizationRequest(server, client, proof, parameters, bound);
  const { request_uri } = await oauth.processPushedAuthorizationResponse(server, client, response);
  return new URLSearchParams({ client_id: client.client_id, request_uri });
}

export async function exchange({ url }) {
  const answer = oauth.validateAuthResponse(server, client, new URL(url), state);
  const options = { additionalParameters: named, ...bound };
  const response = await oauth.authorizationCodeGrantRequest(server, client, proof, answer, callback, verifier, options);
  tokens = await oauth.processAuthorizationCodeResponse(server, client, response);
  return tokens;
}

export async function refresh() {
  const options = { additionalParameters: named, ...bound };
  const response = await oauth.refreshTokenGrantRequest(server, client, proof, tokens.refresh_token, options);
  tokens = await oauth.processRefreshTokenResponse(server, client, response);
  return tokens;
}

export async function read({ url }) {
  const response = await oauth.protectedResourceRequest(tokens.access_token, "GET", new URL(url), undefined, undefined, bound);
  return response.json();
}

export async function start({ scope, details }) {
  const parameters = { scope, mode: "test", ...named, ...(details ? { authorization_details: details } : {}) };
  const response = await oauth.deviceAuthorizationRequest(server, client, proof, parameters, loopback);
  device = await oauth.processDeviceAuthorizationResponse(server, client, response);
  return device;
}

export async function poll() {
  const response = await oauth.deviceCodeGrantRequest(server, client, proof, device.device_code, bound);
  tokens = await oauth.processDeviceCodeResponse(server, client, response);
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
