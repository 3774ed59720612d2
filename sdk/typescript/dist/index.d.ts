export { List, type Credential } from "./api.js";
export { Tollhouse, type TollhouseOptions } from "./client.js";
export { ApiError, AuthenticationError, CallbackError, ConflictError, ConnectionEndedError, EventsExpiredError, FeedResetError, GoneError, InvalidRequestError, NetworkError, NotFoundError, PermissionError, RateLimitError, ServerError, SignatureError, TollhouseError, ValidationError, } from "./errors.js";
export type { CheckpointStorage, FeedCheckpoint, FeedItem, FeedOptions } from "./feed.js";
export { codeChallengeOf, Connection, createCodeVerifier, OAuthApplication, type ApplicationOptions, type AuthorizationRequest, type PendingAuthorization, } from "./oauth.js";
export type { RequestOptions, TransportOptions } from "./options.js";
export { MemoryTokenStorage, ProcessLock, WebLock, type Lock, type Tokens, type TokenStorage } from "./storage.js";
export { parseEvent, verifyWebhook, type HeadersLike, type VerifyOptions } from "./webhooks.js";
export type * from "../types/schema.js";
