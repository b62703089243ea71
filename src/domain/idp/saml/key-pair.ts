import { type Cx, cacheQuery } from "../../../store/index.ts"
import type { Hash } from "../../../xml/names.ts"
import type { XmlSigner } from "../../../xml/sign.ts"
import { requireInstance } from "../../instance/index.ts"
import { type CertifiedPair, createCertifiedPair, importPrivateKey } from "../../key/index.ts"
import type { OwnedIdp } from "../commands.ts"
import { idpSecret } from "../model.ts"
import { secretOf } from "../secret.ts"
import { upstreamError } from "../upstream/identity.ts"

const yearMs = 365 * 86_400_000

/**
 * Long, because certificates are registered at the provider manually; administrators can replace
 * them.
 */
const lifetimeMs = 10 * yearMs

/** Newest first: the first one signs; all decrypt. */
type KeyPairs = readonly CertifiedPair[]

const pairsMax = 2

/**
 * Creates a key pair for one provider and puts it before the existing ones; in the format of its
 * secret.
 */
export async function createKeyPairs(cx: Cx, before = ""): Promise<string> {
  const { hostname: name } = new URL(requireInstance(cx).publicUrl)
  const now = cx.clock.now()
  // One hour of tolerance for clock skew.
  const certified = await createCertifiedPair(cx.random, {
    name,
    from: now - hourMs,
    to: now + lifetimeMs,
  })
  return JSON.stringify([certified, ...parseKeyPairs(before)].slice(0, pairsMax) satisfies KeyPairs)
}

const hourMs = 3_600_000

const parseKeyPairs = (secret: string): KeyPairs => (secret === "" ? [] : JSON.parse(secret))

function newestKeyPair(cx: Cx, { idp }: OwnedIdp): CertifiedPair {
  const [first] = parseKeyPairs(secretOf(cx, idp.id))
  if (!first)
    throw upstreamError("answer_refused", "the identity provider has no key pair; create one")
  return first
}

/** The certificate that is registered at the provider; DER in base64. */
export const certificateOf = (cx: Cx, ownedIdp: OwnedIdp): string =>
  newestKeyPair(cx, ownedIdp).certificate

/** Cached, because parsing a key is slow and each sign-in needs it. */
const signers = cacheQuery(() => new Map<string, XmlSigner>(), [idpSecret.stream])
const signersMax = 500

/** Returns the signer of requests to a provider. */
export async function signerOf(cx: Cx, ownedIdp: OwnedIdp): Promise<XmlSigner> {
  const { settings, id } = ownedIdp.idp
  const hash = settings.kind === "saml" ? settings.hash : "sha256"
  const cache = signers(cx)
  const before = cache.get(`${id} ${hash}`)
  if (before) return before
  const signer = await readSigner(newestKeyPair(cx, ownedIdp), hash)
  if (cache.size >= signersMax) cache.clear()
  cache.set(`${id} ${hash}`, signer)
  return signer
}

async function readSigner(pair: CertifiedPair, hash: Hash): Promise<XmlSigner> {
  const { certificate, privateKey } = pair
  const key = await importPrivateKey(privateKey, hash)
  const sign: XmlSigner["sign"] = async (bytes) =>
    new Uint8Array(await crypto.subtle.sign("RSASSA-PKCS1-v1_5", key, bytes))
  return { certificate, hash, sign }
}

/** Keys that decrypt assertions of a provider: PKCS #8 in DER, newest first. */
export const decryptionKeysOf = (cx: Cx, { idp }: OwnedIdp): readonly Uint8Array<ArrayBuffer>[] =>
  parseKeyPairs(secretOf(cx, idp.id)).map(({ privateKey }) =>
    Uint8Array.from(Buffer.from(privateKey, "base64")),
  )
