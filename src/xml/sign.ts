import { createHash } from "node:crypto"
import { digestNames, enveloped, exclusiveC14n, type Hash, signatureNames } from "./names.ts"
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
  const info = signedInfo(node, signer)
  const value = await signatureOf(signer, write(info))
  const signature = element(
    "ds:Signature",
    {},
    info,
    element("ds:SignatureValue", {}, value),
    keyInfo(signer.certificate),
  )
  return { ...node, children: node.children.toSpliced(at, 0, signature) }
}

/** XML Signature §4.5.4. */
export const keyInfo = (certificate: string): Written =>
  element(
    "ds:KeyInfo",
    {},
    element("ds:X509Data", {}, element("ds:X509Certificate", {}, certificate)),
  )

function signedInfo(node: Written, { hash }: Pick<XmlSigner, "hash">): Written {
  const digest = createHash(hash).update(write(node)).digest("base64")
  return element(
    "ds:SignedInfo",
    {},
    element("ds:CanonicalizationMethod", { Algorithm: exclusiveC14n }),
    element("ds:SignatureMethod", { Algorithm: signatureNames[hash] }),
    element(
      "ds:Reference",
      { URI: `#${node.attributes.ID}` },
      element(
        "ds:Transforms",
        {},
        element("ds:Transform", { Algorithm: enveloped }),
        element("ds:Transform", { Algorithm: exclusiveC14n }),
      ),
      element("ds:DigestMethod", { Algorithm: digestNames[hash] }),
      element("ds:DigestValue", {}, digest),
    ),
  )
}
