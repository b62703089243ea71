import { type Cx, cached } from "../../../store/index.ts"
import type { Hash } from "../../../xml/names.ts"
import type { XmlSigner } from "../../../xml/sign.ts"
import { requireInstance } from "../../instance/index.ts"
import { type CertifiedPair, createCertified, privateKeyOf } from "../../key/index.ts"
import { type Found, secretOf } from "../commands.ts"
import { idpSecret } from "../model.ts"
import { upstreamError } from "../upstream/identity.ts"

const year = 365 * 86_400_000

/** It is entered at the provider by hand, and made anew when an administrator wants that. */
const lifetime = 10 * year

/** Newest first: the first one signs; what was encrypted for the one before is still read. */
type Pairs = readonly CertifiedPair[]

const pairsMax = 2

/** A pair that is one provider's alone, ahead of those it had before; as its secret is kept. */
export async function newPairs(cx: Cx, before = ""): Promise<string> {
  const { hostname: name } = new URL(requireInstance(cx).publicUrl)
  const now = cx.clock.now()
  // An hour for clocks that are wrong.
  const made = await createCertified(cx.random, { name, from: now - hour, to: now + lifetime })
  return JSON.stringify([made, ...pairsIn(before)].slice(0, pairsMax) satisfies Pairs)
}

const hour = 3_600_000

const pairsIn = (secret: string): Pairs => (secret === "" ? [] : JSON.parse(secret))

function newest(cx: Cx, { idp }: Found): CertifiedPair {
  const [first] = pairsIn(secretOf(cx, idp.id))
  if (!first) throw upstreamError("answer_refused", "the provider has no key pair; make one anew")
  return first
}

/** The certificate that a provider knows us by; DER in base64. */
export const certificateOf = (cx: Cx, found: Found): string => newest(cx, found).certificate

/** To read a key takes longer than to look it up: each sign-in needs it. */
const signers = cached(() => new Map<string, XmlSigner>(), [idpSecret.stream])
const signersMax = 500

/** What signs what we say to a provider. */
export async function signerOf(cx: Cx, found: Found): Promise<XmlSigner> {
  const { settings, id } = found.idp
  const hash = settings.kind === "saml" ? settings.hash : "sha256"
  const known = signers(cx)
  const before = known.get(`${id} ${hash}`)
  if (before) return before
  const signer = await readSigner(newest(cx, found), hash)
  if (known.size >= signersMax) known.clear()
  known.set(`${id} ${hash}`, signer)
  return signer
}

async function readSigner(pair: CertifiedPair, hash: Hash): Promise<XmlSigner> {
  const { certificate, privateKey } = pair
  const key = await privateKeyOf(privateKey, hash)
  const sign: XmlSigner["sign"] = async (bytes) =>
    new Uint8Array(await crypto.subtle.sign("RSASSA-PKCS1-v1_5", key, bytes))
  return { certificate, hash, sign }
}

/** What opens what a provider has encrypted for us: PKCS #8 in DER, newest first. */
export const openersOf = (cx: Cx, { idp }: Found): readonly Uint8Array<ArrayBuffer>[] =>
  pairsIn(secretOf(cx, idp.id)).map(({ privateKey }) =>
    Uint8Array.from(Buffer.from(privateKey, "base64")),
  )
