import { generateKeyPair } from "node:crypto"
import { promisify } from "node:util"
import type { Call } from "../../kernel/context.ts"
import { type Algorithm, algorithmOf, type KeyKind, type PublicJwk } from "./model.ts"

/** A key pair that is ready to be stored: its private half is sealed already. */
export type SealedPair = {
  readonly id: string
  readonly kind: KeyKind
  readonly algorithm: Algorithm
  readonly publicKey: PublicJwk
  readonly sealed: string
}

const generate = promisify(generateKeyPair)

/**
 * Makes a key pair off the event loop (an RSA pair takes a tenth of a second) and seals its private
 * half, before any decision: decisions are synchronous.
 */
export async function createPair(
  cx: Pick<Call, "ids" | "secrets">,
  kind: KeyKind,
): Promise<SealedPair> {
  const { privateKey } = await pairOf(kind)
  return sealPair(cx, { id: cx.ids.next(), kind, privateJwk: privateKey.export({ format: "jwk" }) })
}

/** A key pair that somebody has already. */
export type GivenKey = { readonly id: string; readonly kind: KeyKind; readonly privateJwk: object }

/** Makes one that is there already ready to be stored. */
export const sealPair = (
  { secrets }: Pick<Call, "secrets">,
  { id, kind, privateJwk }: GivenKey,
): SealedPair => ({
  id,
  kind,
  algorithm: algorithmOf(kind),
  publicKey: publicJwk(privateJwk),
  sealed: secrets.seal("seal", JSON.stringify(privateJwk), sealedAbout(id)),
})

/** What the sealed private half is bound to, so that it can't stand in for another key's. */
export const sealedAbout = (id: string): string => `web_key/${id}`

function pairOf(kind: KeyKind) {
  if (kind.kind === "rsa") return generate("rsa", { modulusLength: kind.bits })
  if (kind.kind === "ecdsa") return generate("ec", { namedCurve: kind.curve })
  return generate("ed25519", {})
}

/** The members that RFC 7517 and RFC 8037 make public, by name: a private one never slips along. */
function publicJwk(jwk: object): PublicJwk {
  const members = Object.entries(jwk).filter(([name]) => publicMembers.includes(name))
  return Object.fromEntries(members)
}

const publicMembers = ["kty", "n", "e", "crv", "x", "y"]
