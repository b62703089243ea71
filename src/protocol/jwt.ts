import { decodeBase64Url } from "../kernel/crypto/secret.ts"

/**
 * RFC 7515 §7.1: whether a text has the three parts of a JWT; untrusted input may consist of dots
 * only.
 */
export const isJwt = (text: string): boolean => text.split(".", 4).length === 3

/** The decoded parts of a JWT in their canonical encoding (§2); undefined otherwise. */
export function parseJwtParts(text: string): readonly [Buffer, Buffer, Buffer] | undefined {
  if (!isJwt(text)) return undefined
  const [head, body, signature] = text.split(".").map(decodeBase64Url)
  return head && body && signature && [head, body, signature]
}
