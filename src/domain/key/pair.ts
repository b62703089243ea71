import { generateKeyPair } from "node:crypto"
import { promisify } from "node:util"
import type { Call } from "../../kernel/context.ts"
import { type Algorithm, algorithmOf, type KeyKind, type PublicJwk } from "./model.ts"

/** A key pair that is ready to be stored: its private key is sealed. */
export type SealedPair = {
  readonly id: string
  readonly kind: KeyKind
  readonly algorithm: Algorithm
  readonly publicKey: PublicJwk
  readonly sealed: string
}

const generate = promisify(generateKeyPair)

/**
 * Generates a key pair off the event loop (RSA takes about 100 ms) and seals its private key. Must
 * precede the decision, because decisions are synchronous.
 */
export async function createPair(
  cx: Pick<Call, "ids" | "secrets">,
  kind: KeyKind,
): Promise<SealedPair> {
  const { privateKey } = await generatePair(kind)
  return sealPair(cx, { id: cx.ids.next(), kind, privateJwk: privateKey.export({ format: "jwk" }) })
}

/** An existing key pair, for an import. */
export type ImportedKey = {
  readonly id: string
  readonly kind: KeyKind
  readonly privateJwk: object
}

/** Seals an existing key pair, so that it can be stored. */
export const sealPair = (
  { secrets }: Pick<Call, "secrets">,
  { id, kind, privateJwk }: ImportedKey,
): SealedPair => ({
  id,
  kind,
  algorithm: algorithmOf(kind),
  publicKey: publicJwk(privateJwk),
  sealed: secrets.seal("seal", JSON.stringify(privateJwk), sealContextOf(id)),
})

/** The seal context that binds a sealed private key to its key ID. */
export const sealContextOf = (id: string): string => `web_key/${id}`

function generatePair(kind: KeyKind) {
  if (kind.kind === "rsa") return generate("rsa", { modulusLength: kind.bits })
  if (kind.kind === "ecdsa") return generate("ec", { namedCurve: kind.curve })
  return generate("ed25519", {})
}

/**
 * The public members according to RFC 7517 and RFC 8037, listed by name so that a private one can't
 * leak.
 */
function publicJwk(jwk: object): PublicJwk {
  const members = Object.entries(jwk).filter(([name]) => publicMembers.includes(name))
  return Object.fromEntries(members)
}

const publicMembers = ["kty", "n", "e", "crv", "x", "y"]
