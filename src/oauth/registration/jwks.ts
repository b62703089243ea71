import { createPublicKey } from "node:crypto"
import type { ClientJwk } from "../../domain/app/index.ts"
import { algorithmsOf } from "../client/assertion.ts"
import { type Members, metadataError, objectIn } from "./member.ts"

const keysMax = 10

/** RFC 7517 §5: the public keys of a client, by names of its own. None where it sends none. */
export function jwksIn(members: Members): readonly ClientJwk[] {
  if (members.jwks === undefined) return []
  const list = objectIn(members.jwks)?.keys
  if (!Array.isArray(list)) throw metadataError("jwks", "must be an object with the list keys")
  if (list.length > keysMax) throw metadataError("jwks", `must have at most ${keysMax} keys`)
  const keys = list.map(keyIn)
  const names = new Set(keys.map(({ kid = "" }) => kid))
  if (names.size < keys.length)
    throw metadataError("jwks", "must give each of its keys its own kid")
  return keys
}

/** What tells a key, and nothing else that stands beside it. */
const publicMembers = ["kty", "crv", "x", "y", "n", "e", "kid", "alg", "use"] as const
const privateMembers = ["d", "p", "q", "k"] as const

function keyIn(value: unknown): ClientJwk {
  const members = objectIn(value) ?? {}
  if (privateMembers.some((name) => members[name] !== undefined)) {
    throw metadataError("jwks", "must have public keys only: make new ones, these are known now")
  }
  const texts = publicMembers.flatMap((name) => {
    const text = members[name]
    return typeof text === "string" ? [[name, text] as const] : []
  })
  const jwk: ClientJwk = Object.fromEntries(texts)
  if (isUsable(jwk)) return jwk
  const wanted = "must have RSA keys of 2048 bits or more, EC keys, or Ed25519 keys"
  throw metadataError("jwks", wanted)
}

const bitsMin = 2048

function isUsable(jwk: ClientJwk): boolean {
  const key = keyOf(jwk)
  if (!key) return false
  const bits = key.asymmetricKeyDetails?.modulusLength ?? bitsMin
  return bits >= bitsMin && algorithmsOf(key).length > 0
}

/** Undefined for what is no key: its sender's mistake. */
function keyOf(jwk: ClientJwk) {
  try {
    return createPublicKey({ key: jwk, format: "jwk" })
  } catch (cause) {
    if (cause instanceof Error) return undefined
    throw cause
  }
}
