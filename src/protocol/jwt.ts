import { bytesOf } from "../kernel/crypto/secret.ts"

/** RFC 7515 §7.1: whether a text has the three parts of a JWT; a stranger's may be all dots. */
export const isJwt = (text: string): boolean => text.split(".", 4).length === 3

/** The parts of a JWT, each in its one spelling (§2); undefined where that is not so. */
export function jwtParts(text: string): readonly [Buffer, Buffer, Buffer] | undefined {
  if (!isJwt(text)) return undefined
  const [head, body, signature] = text.split(".").map(bytesOf)
  return head && body && signature && [head, body, signature]
}
