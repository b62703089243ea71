import { lazily } from "../kernel/lazy.ts"
import { withLineEnds } from "./document.ts"
import type { Hash } from "./names.ts"
import { element, type Written, write } from "./write.ts"

/** What signs: an RSA key, off the event loop, and the certificate that others know it by. */
export type XmlSigner = {
  /** DER in base64, without line breaks. */
  readonly certificate: string
  /** RSASSA-PKCS1-v1_5 with `hash`. */
  readonly sign: (bytes: Uint8Array<ArrayBuffer>) => Promise<Uint8Array>
  readonly hash: Hash
}

/** Signs a text; base64. */
export async function signatureOf(signer: XmlSigner, text: string): Promise<string> {
  return Buffer.from(await signer.sign(new TextEncoder().encode(text))).toString("base64")
}

/**
 * Puts an enveloped signature of an element with an ID into it, as its child number `at`
 * (SAML Core §5.4).
 */
export async function signed(node: Written, at: number, signer: XmlSigner): Promise<Written> {
  const { signatureFor } = await loadLibrary()
  const { certificate, hash } = signer
  const sign = (text: string) => signatureOf(signer, text)
  const xml = await signatureFor(withLineEnds(write(node)), { certificate, hash, sign })
  return { ...node, children: node.children.toSpliced(at, 0, { xml }) }
}

const loadLibrary = lazily(() => import("./signature.ts"))

/** XML Signature §4.5.4. */
export const keyInfo = (certificate: string): Written =>
  element(
    "ds:KeyInfo",
    {},
    element("ds:X509Data", {}, element("ds:X509Certificate", {}, certificate)),
  )
