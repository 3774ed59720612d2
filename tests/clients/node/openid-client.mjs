// openid-client. It takes the redirect_uri from the callback it is given, without the query: ours must have none.
import * as oauth from "openid-client";

const verifier = oauth.randomPKCECodeVerifier();
const state = oauth.randomState();
let configuration, callback, tokens;

export async function discover({ issuer, client_id, client_secret, method, redirect_uri }) {
  const proofs = { basic: oauth.ClientSecretBasic, body: oauth.ClientSecretPost, none: oauth.None };
  configuration = await oauth.discovery(new URL(issuer), client_id, undefined, proofs[method](client_secret), {
    algorithm: "oauth2",
    execute: [oauth.allowInsecureRequests],
  });
  callback = redirect_uri;
  return configuration.serverMetadata().issuer;
}

export async function authorize({ scope }) {
  const url = oauth.buildAuthorizationUrl(configuration, {
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
  const checks = { pkceCodeVerifier: verifier, expectedState: state };
  tokens = await oauth.authorizationCodeGrant(configuration, new URL(url), checks);
  return tokens;
}

export async function refresh() {
  tokens = await oauth.refreshTokenGrant(configuration, tokens.refresh_token);
  return tokens;
}

export async function revoke() {
  await oauth.tokenRevocation(configuration, tokens.refresh_token);
}
