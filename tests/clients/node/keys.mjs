// The private key of an application, as the libraries take it.
export async function importedKey(jwk) {
  const algorithm = { name: "ECDSA", namedCurve: "P-256" };
  return { key: await crypto.subtle.importKey("jwk", jwk, algorithm, false, ["sign"]), kid: jwk.kid };
}
