// Bytes, and texts that are made of them.
const TEXT = new TextEncoder();
export function utf8(text) {
    return TEXT.encode(text);
}
export function base64url(bytes) {
    return btoa(String.fromCharCode(...bytes)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}
/** The bytes of standard base64, or null for anything else. */
export function fromBase64(text) {
    try {
        return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    }
    catch {
        return null;
    }
}
export function fromHex(text) {
    const pairs = /^(?:[0-9a-f]{2})+$/.test(text) ? text.match(/../g) : null;
    return pairs && Uint8Array.from(pairs, (pair) => parseInt(pair, 16));
}
/** 256 random bits as 43 characters of `A-Za-z0-9-_`: an idempotency key, a state or a code verifier. */
export function randomText() {
    return base64url(crypto.getRandomValues(new Uint8Array(32)));
}
