import { createPublicKey } from "node:crypto"
import type { ClientJwk } from "../../domain/app/index.ts"
import { algorithmsOf } from "../client/assertion.ts"
import { type Members, metadataError, toMembers } from "./json-member.ts"

const keysMax = 10

/** RFC 7517 §5: the public keys of a client, with its own key IDs. Empty if it sends none. */
export function parseJwks(members: Members): readonly ClientJwk[] {
  if (members.jwks === undefined) return []
  const list = toMembers(members.jwks)?.keys
  if (!Array.isArray(list)) throw metadataError("jwks", "must be an object with the array keys")
  if (list.length > keysMax) throw metadataError("jwks", `must have at most ${keysMax} keys`)
  const keys = list.map(parseKey)
  const names = new Set(keys.map(({ kid = "" }) => kid))
  if (names.size < keys.length) throw metadataError("jwks", "must have a unique kid for each key")
  return keys
}

/** Only the members that define a key. */
const publicMembers = ["kty", "crv", "x", "y", "n", "e", "kid", "alg", "use"] as const
const privateMembers = ["d", "p", "q", "k"] as const

function parseKey(value: unknown): ClientJwk {
  const members = toMembers(value) ?? {}
  if (privateMembers.some((name) => members[name] !== undefined)) {
    throw metadataError(
      "jwks",
      "must contain only public keys; generate new ones, because these are compromised",
    )
  }
  const texts = publicMembers.flatMap((name) => {
    const text = members[name]
    return typeof text === "string" ? [[name, text] as const] : []
  })
  const jwk: ClientJwk = Object.fromEntries(texts)
  if (isUsable(jwk)) return jwk
  const requirement = "must contain only RSA keys of at least 2048 bits, EC keys, or Ed25519 keys"
  throw metadataError("jwks", requirement)
}

const bitsMin = 2048

function isUsable(jwk: ClientJwk): boolean {
  const key = importKey(jwk)
  if (!key) return false
  const bits = key.asymmetricKeyDetails?.modulusLength ?? bitsMin
  return bits >= bitsMin && algorithmsOf(key).length > 0
}

/** Undefined for an invalid key, which is the sender's error. */
function importKey(jwk: ClientJwk) {
  try {
    return createPublicKey({ key: jwk, format: "jwk" })
  } catch (cause) {
    if (cause instanceof Error) return undefined
    throw cause
  }
}
