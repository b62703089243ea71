import type { BinaryLike, KeyLike } from "node:crypto"
import {
  type CanonicalizationOrTransformationAlgorithmProcessOptions as ProcessOptions,
  type SignatureAlgorithm,
  SignedXml,
} from "xml-crypto"
import { canonicalize } from "./canonical.ts"
import { isElement } from "./document.ts"
import {
  digestHashes,
  digestNames,
  envelopedTransform,
  exclusiveC14n,
  type Hash,
  signatureAlgorithms,
  signatureNames,
} from "./names.ts"

// The only file that uses `xml-crypto`; loaded with the first signature.

/** A key that the sender has registered, in PEM, and the canonical SignedInfo. */
type SignatureCheck = { readonly key: string; readonly info: string }

/**
 * The content that a signature covers: each reference in the canonical form that was digested.
 * Empty if the key did not sign it, or if the library rejects the document.
 */
export function signedReferences(
  document: string,
  signature: string,
  { key, info }: SignatureCheck,
): readonly string[] {
  const check = restrictAlgorithms(new SignedXml({ publicCert: key }), info)
  try {
    check.loadSignature(signature)
    return check.checkSignature(document) ? check.getSignedReferences() : []
  } catch {
    // The library throws for everything it rejects, including invalid signatures.
    return []
  }
}

/**
 * Restricts algorithms to the supported ones and IDs to SAML's attribute: no SHA-1, no comments.
 * `info` is the SignedInfo of the signature to verify, because the library uses the first
 * signature's namespaces for every signature of a message.
 */
function restrictAlgorithms(xml: SignedXml, info?: string): SignedXml {
  xml.idAttributes = ["ID"]
  xml.SignatureAlgorithms = pick(xml.SignatureAlgorithms, Object.keys(signatureAlgorithms))
  xml.HashAlgorithms = pick(xml.HashAlgorithms, [...digestHashes.keys()])
  xml.CanonicalizationAlgorithms = {
    ...pick(xml.CanonicalizationAlgorithms, [envelopedTransform]),
    [exclusiveC14n]: class Canonicalization {
      process(node: Node, options: ProcessOptions): string {
        const { inclusiveNamespacesPrefixList: inclusive, ancestorNamespaces = [] } = options
        // The library lists prefixes only for references.
        if (inclusive === undefined && info !== undefined) return info
        if (!isElement(node)) throw new Error("only an element can be canonicalized")
        const around = ancestorNamespaces.map(
          ({ prefix, namespaceURI }) => [prefix, namespaceURI] as const,
        )
        return canonicalize(node, inclusive, around)
      }
      getAlgorithmName() {
        return exclusiveC14n
      }
    },
  }
  return xml
}

const pick = <T>(algorithms: Record<string, T>, names: readonly string[]): Record<string, T> =>
  Object.fromEntries(Object.entries(algorithms).filter(([name]) => names.includes(name)))

/** A signer: `sign` returns the signature of a text in base64, computed outside the library. */
type SigningOptions = {
  readonly certificate: string
  readonly hash: Hash
  readonly sign: (text: string) => Promise<string>
}

/** The enveloped signature of the document's root, which has an ID; as `ds:Signature`. */
export function signatureFor(document: string, signing: SigningOptions): Promise<string> {
  const { certificate, hash } = signing
  const xml = restrictAlgorithms(
    new SignedXml({
      privateKey: "",
      publicCert: certificate,
      signatureAlgorithm: signatureNames[hash],
      canonicalizationAlgorithm: exclusiveC14n,
    }),
  )
  xml.SignatureAlgorithms = { [signatureNames[hash]]: createRemoteSigner(signing) }
  xml.addReference({
    xpath: "/*",
    transforms: [envelopedTransform, exclusiveC14n],
    digestAlgorithm: digestNames[hash],
  })
  return new Promise((resolve, reject) => {
    xml.computeSignature(document, { prefix: "ds" }, (error) => {
      if (error) reject(error)
      else resolve(xml.getSignatureXml())
    })
  })
}

const createRemoteSigner = ({ hash, sign }: SigningOptions): (new () => SignatureAlgorithm) =>
  class RemoteSigner {
    getSignature(
      info: BinaryLike,
      _: KeyLike,
      done?: (error: Error | null, signature?: string) => void,
    ): string {
      if (!done || typeof info !== "string")
        throw new Error("only text can be signed, and only asynchronously")
      sign(info).then((signature) => done(null, signature), done)
      return ""
    }
    verifySignature(): boolean {
      return false
    }
    getAlgorithmName() {
      return signatureNames[hash]
    }
  }
