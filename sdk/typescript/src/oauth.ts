// OAuth: an application, its authorizations with PKCE, and the connections that merchants made with it.

import type { TokenResponse } from "../types/schema.js";
import type { Credential } from "./api.js";
import { base64url, randomText, utf8 } from "./encoding.js";
import { ApiError, CallbackError, ConnectionEndedError } from "./errors.js";
import type { TransportOptions } from "./options.js";
import { ProcessLock, WebLock, type Lock, type Tokens, type TokenStorage } from "./storage.js";
import { Transport } from "./transport.js";

const AUTHORIZE = "/api/v2/oauth/authorize";
const TOKEN = "/api/v2/oauth/token";
const REVOKE = "/api/v2/oauth/revoke";
/** A token that expires within this time is refreshed before it is used. */
const MARGIN_MS = 30_000;

export interface ApplicationOptions extends TransportOptions {
  /** Address of the service, such as `https://pay.example`. It is the issuer. */
  baseUrl: string;
  clientId: string;
  /** Of confidential applications, which run on a server. */
  clientSecret?: string | undefined;
  redirectUri: string;
}

export interface AuthorizationRequest {
  scopes: string[];
  /** The environment of the connection. The default is `live`. */
  mode?: "live" | "test" | undefined;
}

/** What is kept until the callback, in the session of the person who connects. It is used once. */
export interface PendingAuthorization {
  state: string;
  codeVerifier: string;
}

/** A code verifier for PKCE. */
export function createCodeVerifier(): string {
  return randomText();
}

/** The S256 code challenge of a verifier. */
export async function codeChallengeOf(codeVerifier: string): Promise<string> {
  return base64url(new Uint8Array(await crypto.subtle.digest("SHA-256", utf8(codeVerifier))));
}

/** An OAuth application that is registered with the service. */
export class OAuthApplication {
  readonly #options: ApplicationOptions;
  readonly #transport: Transport;

  constructor(options: ApplicationOptions) {
    this.#options = options;
    this.#transport = new Transport(options.baseUrl, options);
  }

  get issuer(): string {
    return this.#transport.baseUrl;
  }

  get clientId(): string {
    return this.#options.clientId;
  }

  /** Where to send the merchant's browser, and what to keep until it comes back. */
  async authorize(request: AuthorizationRequest): Promise<{ url: string; pending: PendingAuthorization }> {
    const pending = { state: randomText(), codeVerifier: createCodeVerifier() };
    const query = new URLSearchParams({
      response_type: "code",
      client_id: this.#options.clientId,
      redirect_uri: this.#options.redirectUri,
      scope: request.scopes.join(" "),
      state: pending.state,
      code_challenge: await codeChallengeOf(pending.codeVerifier),
      code_challenge_method: "S256",
      mode: request.mode ?? "live",
    });
    return { url: `${this.issuer}${AUTHORIZE}?${query}`, pending };
  }

  /** The tokens for a callback. Throws a `CallbackError` where it is not the answer to `pending`, or a denial. */
  async callback(url: string | URL, pending: PendingAuthorization): Promise<Tokens> {
    const given = new URL(url, this.#options.redirectUri).searchParams;
    if (given.get("state") !== pending.state) {
      throw new CallbackError("invalid_state", "The state is not that of the authorization which was started.");
    }
    if (given.get("iss") !== this.issuer) {
      throw new CallbackError("invalid_issuer", `The issuer is not ${this.issuer}.`);
    }
    const code = given.get("code");
    if (code === null) {
      const error = given.get("error") ?? "invalid_request";
      throw new CallbackError(error, given.get("error_description") ?? "The connection was not allowed.");
    }
    const fields = {
      grant_type: "authorization_code",
      code,
      redirect_uri: this.#options.redirectUri,
      code_verifier: pending.codeVerifier,
    };
    return this.#tokens(fields, false);
  }

  /** New tokens for a refresh token. The same request can be repeated with the same key until a new token is used. */
  refresh(refreshToken: string, idempotencyKey: string): Promise<Tokens> {
    return this.#tokens({ grant_type: "refresh_token", refresh_token: refreshToken }, true, idempotencyKey);
  }

  /** End the connection of an access token or refresh token. */
  async revoke(token: string): Promise<void> {
    await this.#post(REVOKE, { token }, true);
  }

  async #tokens(fields: Record<string, string>, repeatable: boolean, idempotencyKey?: string): Promise<Tokens> {
    const now = Date.now();
    const tokens = (await this.#post(TOKEN, fields, repeatable, idempotencyKey)) as TokenResponse;
    return {
      access_token: tokens.access_token,
      expires_at: now + tokens.expires_in * 1000,
      scope: tokens.scope,
      ...(tokens.refresh_token === undefined ? {} : { refresh_token: tokens.refresh_token }),
    };
  }

  async #post(url: string, fields: Record<string, string>, repeatable: boolean, key?: string): Promise<unknown> {
    const { clientId, clientSecret } = this.#options;
    const secret: Record<string, string> = clientSecret === undefined ? {} : { client_secret: clientSecret };
    const headers: Record<string, string> = key === undefined ? {} : { "Idempotency-Key": key };
    headers["Content-Type"] = "application/x-www-form-urlencoded";
    const body = new URLSearchParams({ client_id: clientId, ...secret, ...fields }).toString();
    return (await this.#transport.send({ method: "POST", url, headers, body, repeatable })).body;
  }
}

/** One merchant's connection: its access token is refreshed in time, by one at a time. */
export class Connection implements Credential {
  readonly #lock: Lock;
  #current: Tokens | null = null;

  constructor(
    private readonly application: OAuthApplication,
    private readonly storage: TokenStorage,
    lock?: Lock,
  ) {
    this.#lock = lock ?? storage.lock ?? defaultLock(application);
  }

  /** An access token that is valid for a while. Throws a `ConnectionEndedError`. */
  async accessToken(): Promise<string> {
    this.#current ??= await this.storage.load();
    if (this.#current === null || isDue(this.#current)) {
      this.#current = await this.#refreshed(undefined);
    }
    return this.#current.access_token;
  }

  async headers(): Promise<Record<string, string>> {
    return { Authorization: `Bearer ${await this.accessToken()}` };
  }

  async renew(rejected: Record<string, string>): Promise<boolean> {
    this.#current = await this.#refreshed(rejected["Authorization"]?.slice("Bearer ".length));
    return true;
  }

  /** End the connection, and forget its tokens. */
  async disconnect(): Promise<void> {
    await this.#lock.hold(async () => {
      const stored = await this.storage.load();
      if (stored !== null) {
        await this.application.revoke(stored.refresh_token ?? stored.access_token);
        await this.#forget();
      }
    });
  }

  /**
   * Under the lock: what another one stored meanwhile, or the result of a refresh. Its key is stored before the request, so
   * that whoever comes after a crash repeats the identical request; the new tokens are stored before they are used.
   */
  #refreshed(rejected: string | undefined): Promise<Tokens> {
    return this.#lock.hold(async () => {
      const stored = await this.storage.load();
      if (stored === null) {
        throw new ConnectionEndedError("There is no connection: ask the merchant to connect.");
      }
      if (stored.access_token !== rejected && !isDue(stored)) {
        return stored;
      }
      const { refresh_token: refreshToken, refresh_key: key = randomText() } = stored;
      if (refreshToken === undefined) {
        throw new ConnectionEndedError("The access token ended, and there is no refresh token: ask the merchant to connect again.");
      }
      if (stored.refresh_key === undefined) {
        await this.storage.save({ ...stored, refresh_key: key });
      }
      const tokens = await this.#refresh(refreshToken, key);
      await this.storage.save(tokens);
      return tokens;
    });
  }

  async #refresh(refreshToken: string, key: string): Promise<Tokens> {
    try {
      return await this.application.refresh(refreshToken, key);
    } catch (cause) {
      if (cause instanceof ApiError && cause.code === "invalid_grant") {
        await this.#forget();
        throw new ConnectionEndedError("The connection ended: ask the merchant to connect again.", { cause });
      }
      throw cause;
    }
  }

  async #forget(): Promise<void> {
    this.#current = null;
    await this.storage.save(null);
  }
}

function isDue(tokens: Tokens): boolean {
  return Date.now() >= tokens.expires_at - MARGIN_MS;
}

function defaultLock(application: OAuthApplication): Lock {
  const shared = typeof navigator !== "undefined" && "locks" in navigator;
  return shared ? new WebLock(`tollhouse ${application.issuer} ${application.clientId}`) : new ProcessLock();
}
