import type { FieldError } from "../types/schema.js";
export declare class TollhouseError extends Error {
    constructor(message: string, options?: ErrorOptions);
}
/** No response arrived, so the outcome is unknown. Repeat the call with `idempotencyKey` to find out. */
export declare class NetworkError extends TollhouseError {
    readonly idempotencyKey: string | undefined;
    constructor(message: string, idempotencyKey: string | undefined, cause: unknown);
}
/** The members of an error body. */
export interface ErrorBody {
    error?: string;
    error_description?: string;
    request_id?: string;
    errors?: FieldError[];
    scope?: string;
    details?: Record<string, unknown>;
    doc_url?: string;
}
/** What is known of a response that is an error. */
export interface ErrorResponse {
    status: number;
    body: ErrorBody;
    docUrl: string;
    retryAfterS: number | undefined;
    idempotencyKey: string | undefined;
}
/** The service refused the request. Except for a 503 of unknown outcome, nothing was changed. */
export declare class ApiError extends TollhouseError {
    readonly status: number;
    readonly code: string;
    readonly description: string;
    readonly requestId: string | undefined;
    readonly errors: FieldError[];
    readonly details: Record<string, unknown>;
    /** The page that explains `code`. */
    readonly docUrl: string;
    readonly retryAfterS: number | undefined;
    readonly idempotencyKey: string | undefined;
    constructor({ status, body, docUrl, retryAfterS, idempotencyKey }: ErrorResponse);
}
/** 400: the request is malformed. */
export declare class InvalidRequestError extends ApiError {
}
/** 401: the API key, access token or client secret is not valid. */
export declare class AuthenticationError extends ApiError {
}
/** 403: the credential may not do this. `scope` is set for `missing_scope`. */
export declare class PermissionError extends ApiError {
    readonly scope: string | undefined;
    constructor(response: ErrorResponse);
}
/** 404: there is no such object in this account and mode. */
export declare class NotFoundError extends ApiError {
}
/** 409: the state of the object does not allow this. */
export declare class ConflictError extends ApiError {
}
/** 410: it was removed, such as events that are too old. */
export declare class GoneError extends ApiError {
}
/** 422: `errors` names the invalid fields, or `code` the rule that was broken. */
export declare class ValidationError extends ApiError {
}
/** 429: too many requests; `retryAfterS` says when to go on. */
export declare class RateLimitError extends ApiError {
}
/** 5xx: the service or something before it failed. */
export declare class ServerError extends ApiError {
}
/** The connection ended, was never made, or cannot be refreshed: ask the merchant to connect again. */
export declare class ConnectionEndedError extends TollhouseError {
}
/** A callback that does not belong to the authorization that was started, or that says that it was denied. */
export declare class CallbackError extends TollhouseError {
    readonly code: string;
    constructor(code: string, message: string);
}
/** A webhook that is not genuine, or too old. Respond with 400 and do nothing else. */
export declare class SignatureError extends TollhouseError {
}
/** The event feed began anew (after a restore), so that positions of before mean nothing. */
export declare class FeedResetError extends TollhouseError {
}
/** Events after the checkpoint were deleted by age. `oldest` is the first position that is left. */
export declare class EventsExpiredError extends TollhouseError {
    readonly oldest: number;
    constructor(oldest: number, message: string, cause: unknown);
}
/** The error of a response. */
export declare function errorOf(response: ErrorResponse): ApiError;
