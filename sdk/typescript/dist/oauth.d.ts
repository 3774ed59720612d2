import type { Credential } from "./api.js";
import type { TransportOptions } from "./options.js";
import { type Lock, type Tokens, type TokenStorage } from "./storage.js";
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
export declare function createCodeVerifier(): string;
/** The S256 code challenge of a verifier. */
export declare function codeChallengeOf(codeVerifier: string): Promise<string>;
/** An OAuth application that is registered with the service. */
export declare class OAuthApplication {
    #private;
    constructor(options: ApplicationOptions);
    get issuer(): string;
    get clientId(): string;
    /** Where to send the merchant's browser, and what to keep until it comes back. */
    authorize(request: AuthorizationRequest): Promise<{
        url: string;
        pending: PendingAuthorization;
    }>;
    /** The tokens for a callback. Throws a `CallbackError` where it is not the answer to `pending`, or a denial. */
    callback(url: string | URL, pending: PendingAuthorization): Promise<Tokens>;
    /** New tokens for a refresh token. The same request can be repeated with the same key until a new token is used. */
    refresh(refreshToken: string, idempotencyKey: string): Promise<Tokens>;
    /** End the connection of an access token or refresh token. */
    revoke(token: string): Promise<void>;
}
/** One merchant's connection: its access token is refreshed in time, by one at a time. */
export declare class Connection implements Credential {
    #private;
    private readonly application;
    private readonly storage;
    constructor(application: OAuthApplication, storage: TokenStorage, lock?: Lock);
    /** An access token that is valid for a while. Throws a `ConnectionEndedError`. */
    accessToken(): Promise<string>;
    headers(): Promise<Record<string, string>>;
    renew(rejected: Record<string, string>): Promise<boolean>;
    /** End the connection, and forget its tokens. */
    disconnect(): Promise<void>;
}
