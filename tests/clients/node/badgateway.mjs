// @badgateway/oauth2-client. It percent-encodes every character of Basic credentials that is no letter or digit.
import { OAuth2Client, generateCodeVerifier } from "@badgateway/oauth2-client";

const codeVerifier = await generateCodeVerifier();
const state = crypto.randomUUID();
let client, redirectUri, tokens;

export async function discover({ issuer, client_id, client_secret, method, redirect_uri }) {
  client = new OAuth2Client({
    server: `${issuer}/`,
    discoveryEndpoint: "/.well-known/oauth-authorization-server",
    clientId: client_id,
    clientSecret: client_secret ?? undefined,
    authenticationMethod: method === "basic" ? "client_secret_basic" : "client_secret_post",
  });
  redirectUri = redirect_uri;
  return (await client.getEndpoint("tokenEndpoint")).replace("/api/v2/oauth/token", "");
}

export async function authorize({ scope }) {
  const scopes = scope.split(" ");
  return client.authorizationCode.getAuthorizeUri({
    redirectUri,
    state,
    codeVerifier,
    scope: scopes,
    extraParams: { mode: "test" },
  });
}

export async function exchange({ url }) {
  tokens = await client.authorizationCode.getTokenFromCodeRedirect(url, { redirectUri, state, codeVerifier });
  return told();
}

export async function refresh() {
  tokens = await client.refreshToken(tokens);
  return told();
}

export async function revoke() {
  await client.revoke(tokens);
}

function told() {
  return {
    access_token: tokens.accessToken,
    refresh_token: tokens.refreshToken,
    scope: tokens.scope?.join(" "),
  };
}
