import { loadOnce } from "../kernel/lazy.ts"
import { escapeLineEnds } from "./document.ts"
import type { Hash } from "./names.ts"
import { element, serialize, type XmlNode } from "./write.ts"

/** Signs with an RSA key outside the event loop; `certificate` identifies it to others. */
export type XmlSigner = {
  /** DER in base64, without line breaks. */
  readonly certificate: string
  /** RSASSA-PKCS1-v1_5 with `hash`. */
  readonly sign: (bytes: Uint8Array<ArrayBuffer>) => Promise<Uint8Array>
  readonly hash: Hash
}

/** Signs a text; returns base64. */
export async function signText(signer: XmlSigner, text: string): Promise<string> {
  return Buffer.from(await signer.sign(new TextEncoder().encode(text))).toString("base64")
}

/**
 * Inserts an enveloped signature of an element with an ID as its child number `at` (SAML Core
 * §5.4).
 */
export async function signElement(node: XmlNode, at: number, signer: XmlSigner): Promise<XmlNode> {
  const { signatureFor } = await loadLibrary()
  const { certificate, hash } = signer
  const sign = (text: string) => signText(signer, text)
  const xml = await signatureFor(escapeLineEnds(serialize(node)), { certificate, hash, sign })
  return { ...node, children: node.children.toSpliced(at, 0, { xml }) }
}

const loadLibrary = loadOnce(() => import("./signature.ts"))

/** XML Signature §4.5.4. */
export const createKeyInfo = (certificate: string): XmlNode =>
  element(
    "ds:KeyInfo",
    {},
    element("ds:X509Data", {}, element("ds:X509Certificate", {}, certificate)),
  )
