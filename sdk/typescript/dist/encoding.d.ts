export declare function utf8(text: string): Uint8Array<ArrayBuffer>;
export declare function base64url(bytes: Uint8Array): string;
/** The bytes of standard base64, or null for anything else. */
export declare function fromBase64(text: string): Uint8Array<ArrayBuffer> | null;
export declare function fromHex(text: string): Uint8Array<ArrayBuffer> | null;
/** 256 random bits as 43 characters of `A-Za-z0-9-_`: an idempotency key, a state or a code verifier. */
export declare function randomText(): string;
