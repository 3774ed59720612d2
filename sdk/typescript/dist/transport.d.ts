import type { TransportOptions } from "./options.js";
export interface Outgoing {
    method: string;
    url: string;
    headers: Record<string, string>;
    body?: string | undefined;
    /** Whether the service carries it out once, however often it is sent. */
    repeatable: boolean;
    signal?: AbortSignal | undefined;
    timeoutMs?: number | undefined;
}
export interface Received {
    status: number;
    headers: Headers;
    body: unknown;
}
export declare class Transport {
    #private;
    constructor(baseUrl: string, options: TransportOptions);
    get baseUrl(): string;
    /** The response of success. Throws an `ApiError` or `NetworkError`, or the reason of `signal`. */
    send(outgoing: Outgoing): Promise<Received>;
}
/** Wait, unless `signal` ends it. */
export declare function pause(ms: number, signal?: AbortSignal | undefined): Promise<void>;
