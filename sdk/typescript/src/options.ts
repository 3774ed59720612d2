// What a client and a single request can be told.

/** Options of every request. */
export interface RequestOptions {
  /** Identifies this action. Choose it and store it before the request, so that it can be repeated after a crash. */
  idempotencyKey?: string | undefined;
  /** Ends the request. */
  signal?: AbortSignal | undefined;
  /** Time for one attempt, in milliseconds. */
  timeoutMs?: number | undefined;
}

/** How requests are sent. */
export interface TransportOptions {
  /** Used instead of the global `fetch`. */
  fetch?: typeof fetch | undefined;
  /** Attempts after the first one. The default is 4. */
  maxRetries?: number | undefined;
  /** Delay before the first repeated attempt; it doubles each time, up to 8 s. The default is 500. */
  retryDelayMs?: number | undefined;
  /** A `Retry-After` that is longer is not waited for: the error is thrown. The default is 60. */
  maxRetryAfterS?: number | undefined;
  /** Time for one attempt. The default is 30,000. */
  timeoutMs?: number | undefined;
}
