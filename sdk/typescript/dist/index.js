// The SDK for all runtimes; files and file locks of Node are in `tollhouse-sdk/node`.
export { List } from "./api.js";
export { Tollhouse } from "./client.js";
export { ApiError, AuthenticationError, CallbackError, ConflictError, ConnectionEndedError, EventsExpiredError, FeedResetError, GoneError, InvalidRequestError, NetworkError, NotFoundError, PermissionError, RateLimitError, ServerError, SignatureError, TollhouseError, ValidationError, } from "./errors.js";
export { codeChallengeOf, Connection, createCodeVerifier, OAuthApplication, } from "./oauth.js";
export { MemoryTokenStorage, ProcessLock, WebLock } from "./storage.js";
export { parseEvent, verifyWebhook } from "./webhooks.js";
