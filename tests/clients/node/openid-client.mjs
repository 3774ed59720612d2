// openid-client. It takes the redirect_uri from the callback it is given, without the query: ours must have none. With
// `extras` it does what an application may choose: a named resource, pushed requests, limits, tokens bound to a key.
import * as oauth from "openid-client";
import { importedKey } from "./keys.mjs";

const verifier = oauth.randomPKCECodeVerifier();
const state = oauth.randomState();
let configuration, callback, tokens, extras, device;
let bound = {};
let named = {};

export async function discover({ issuer, client_id, client_secret, method, redirect_uri, key, extras: chosen }) {
  const proofs = { basic: oauth.ClientSecretBasic, body: oauth.ClientSecretPost, none: oauth.None };
  const proof = method === "keys" ? oauth.PrivateKeyJwt(await importedKey(key)) : proofs[method](client_secret);
  configuration = await oauth.discovery(new URL(issuer), client_id, undefined, proof, {
    algorithm: "oauth2",
    execute: [oauth.allowInsecureRequests],
  });
  callback = redirect_uri;
  extras = chosen;
  if (extras) {
    named = { resource: `${issuer}/api/v2/integration` };
    bound = { DPoP: oauth.getDPoPHandle(configuration, await oauth.randomDPoPKeyPair("ES256")) };
  }
  return configuration.serverMetadata().issuer;
}

export async function authorize({ scope, details }) {
  const parameters = {
    redirect_uri: callback,
    scope,
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    mode: "test",
    ...named,
    ...(details ? { authorization_details: details } : {}),
  };
  const url = extras
    ? await oauth.buildAuthorizationUrlWithPAR(configuration, parameters, bound)
    : oauth.buildAuthorizationUrl(configuration, parameters);
  return url.href;
}

export async function exchange({ url }) {
  const checks = { pkceCodeVerifier: verifier, expectedState: state };
  tokens = await oauth.authorizationCodeGrant(configuration, new URL(url), checks, named, bound);
  return tokens;
}

export async function refresh() {
  tokens = await oauth.refreshTokenGrant(configuration, tokens.refresh_token, named, bound);
  return tokens;
}

export async function read({ url }) {
  const asked = [configuration, tokens.access_token, new URL(url), "GET", undefined, undefined, bound];
  return (await oauth.fetchProtectedResource(...asked)).json();
}

export async function start({ scope, details }) {
  const parameters = { scope, mode: "test", ...named, ...(details ? { authorization_details: details } : {}) };
  device = await oauth.initiateDeviceAuthorization(configuration, parameters);
  return device;
}

export async function poll() {
  tokens = await oauth.pollDeviceAuthorizationGrant(configuration, { ...device, interval: 0.01 }, named, bound);
  return tokens;
}

export async function introspect() {
  return oauth.tokenIntrospection(configuration, tokens.access_token);
}

export async function revoke() {
  await oauth.tokenRevocation(configuration, tokens.refresh_token);
}
