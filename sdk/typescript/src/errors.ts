// Errors: one class for each thing that a program does about them. `code` is the service's error code.

import type { FieldError } from "../types/schema.js";

export class TollhouseError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** No response arrived, so the outcome is unknown. Repeat the call with `idempotencyKey` to find out. */
export class NetworkError extends TollhouseError {
  constructor(
    message: string,
    readonly idempotencyKey: string | undefined,
    cause: unknown,
  ) {
    super(message, { cause });
  }
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
export class ApiError extends TollhouseError {
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

  constructor({ status, body, docUrl, retryAfterS, idempotencyKey }: ErrorResponse) {
    const code = body.error ?? "unexpected_response";
    const description = body.error_description ?? `The response has status ${status} and no error body.`;
    const fields = (body.errors ?? []).map((one) => ` ${one.field}: ${one.message}`);
    super(`${code} (${status}): ${description}${fields.join("")}`);
    this.status = status;
    this.code = code;
    this.description = description;
    this.requestId = body.request_id;
    this.errors = body.errors ?? [];
    this.details = body.details ?? {};
    this.docUrl = body.doc_url ?? `${docUrl}#${code}`;
    this.retryAfterS = retryAfterS;
    this.idempotencyKey = idempotencyKey;
  }
}

/** 400: the request is malformed. */
export class InvalidRequestError extends ApiError {}

/** 401: the API key, access token or client secret is not valid. */
export class AuthenticationError extends ApiError {}

/** 403: the credential may not do this. `scope` is set for `missing_scope`. */
export class PermissionError extends ApiError {
  readonly scope: string | undefined;

  constructor(response: ErrorResponse) {
    super(response);
    this.scope = response.body.scope;
  }
}

/** 404: there is no such object in this account and mode. */
export class NotFoundError extends ApiError {}

/** 409: the state of the object does not allow this. */
export class ConflictError extends ApiError {}

/** 410: it was removed, such as events that are too old. */
export class GoneError extends ApiError {}

/** 422: `errors` names the invalid fields, or `code` the rule that was broken. */
export class ValidationError extends ApiError {}

/** 429: too many requests; `retryAfterS` says when to go on. */
export class RateLimitError extends ApiError {}

/** 5xx: the service or something before it failed. */
export class ServerError extends ApiError {}

/** The connection ended, was never made, or cannot be refreshed: ask the merchant to connect again. */
export class ConnectionEndedError extends TollhouseError {}

/** A callback that does not belong to the authorization that was started, or that says that it was denied. */
export class CallbackError extends TollhouseError {
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** A webhook that is not genuine, or too old. Respond with 400 and do nothing else. */
export class SignatureError extends TollhouseError {}

/** The event feed began anew (after a restore), so that positions of before mean nothing. */
export class FeedResetError extends TollhouseError {}

/** Events after the checkpoint were deleted by age. `oldest` is the first position that is left. */
export class EventsExpiredError extends TollhouseError {
  constructor(
    readonly oldest: number,
    message: string,
    cause: unknown,
  ) {
    super(message, { cause });
  }
}

const BY_STATUS: Record<number, typeof ApiError> = {
  400: InvalidRequestError,
  401: AuthenticationError,
  403: PermissionError,
  404: NotFoundError,
  409: ConflictError,
  410: GoneError,
  422: ValidationError,
  429: RateLimitError,
};

/** The error of a response. */
export function errorOf(response: ErrorResponse): ApiError {
  const Class = BY_STATUS[response.status] ?? (response.status >= 500 ? ServerError : ApiError);
  return new Class(response);
}
