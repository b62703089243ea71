import type { BinaryLike, KeyLike } from "node:crypto"
import {
  type CanonicalizationOrTransformationAlgorithmProcessOptions as ProcessOptions,
  type SignatureAlgorithm,
  SignedXml,
} from "xml-crypto"
import { canonical } from "./canonical.ts"
import { isElement } from "./document.ts"
import {
  digestHashes,
  digestNames,
  enveloped,
  exclusiveC14n,
  type Hash,
  signatureAlgorithms,
  signatureNames,
} from "./names.ts"

// The one file that uses `xml-crypto`; it is loaded with the first signature.

/** One of the keys that a sender has registered, in PEM, and the canonical SignedInfo. */
type Checking = { readonly key: string; readonly info: string }

/**
 * What a signature in a document covers: each reference in the canonical form that was digested.
 * None if the key has not signed it, or if the library rejects the document.
 */
export function signedReferences(
  document: string,
  signature: string,
  { key, info }: Checking,
): readonly string[] {
  const check = restricted(new SignedXml({ publicCert: key }), info)
  try {
    check.loadSignature(signature)
    return check.checkSignature(document) ? check.getSignedReferences() : []
  } catch {
    // It throws for whatever it does not accept, a wrong signature among it.
    return []
  }
}

/**
 * Only our algorithms and only SAML's spelling of an ID: SHA-1 and comments are off. `info` is the
 * SignedInfo of a signature to check. In a message with two signatures, the library takes the
 * namespaces around the first one for each.
 */
function restricted(xml: SignedXml, info?: string): SignedXml {
  xml.idAttributes = ["ID"]
  xml.SignatureAlgorithms = only(xml.SignatureAlgorithms, Object.keys(signatureAlgorithms))
  xml.HashAlgorithms = only(xml.HashAlgorithms, [...digestHashes.keys()])
  xml.CanonicalizationAlgorithms = {
    ...only(xml.CanonicalizationAlgorithms, [enveloped]),
    [exclusiveC14n]: class Canonicalization {
      process(node: Node, options: ProcessOptions): string {
        const { inclusiveNamespacesPrefixList: inclusive, ancestorNamespaces = [] } = options
        // The library lists prefixes for references alone.
        if (inclusive === undefined && info !== undefined) return info
        if (!isElement(node)) throw new Error("only an element can be canonicalized")
        const around = ancestorNamespaces.map(
          ({ prefix, namespaceURI }) => [prefix, namespaceURI] as const,
        )
        return canonical(node, inclusive, around)
      }
      getAlgorithmName() {
        return exclusiveC14n
      }
    },
  }
  return xml
}

const only = <T>(algorithms: Record<string, T>, names: readonly string[]): Record<string, T> =>
  Object.fromEntries(Object.entries(algorithms).filter(([name]) => names.includes(name)))

/** What signs: `sign` returns the signature of a text in base64, from outside the library. */
type Signing = {
  readonly certificate: string
  readonly hash: Hash
  readonly sign: (text: string) => Promise<string>
}

/** The enveloped signature of the root of a document, which has an ID; as `ds:Signature`. */
export function signatureFor(document: string, signing: Signing): Promise<string> {
  const { certificate, hash } = signing
  const xml = restricted(
    new SignedXml({
      privateKey: "",
      publicCert: certificate,
      signatureAlgorithm: signatureNames[hash],
      canonicalizationAlgorithm: exclusiveC14n,
    }),
  )
  xml.SignatureAlgorithms = { [signatureNames[hash]]: remoteSigner(signing) }
  xml.addReference({
    xpath: "/*",
    transforms: [enveloped, exclusiveC14n],
    digestAlgorithm: digestNames[hash],
  })
  return new Promise((resolve, reject) => {
    xml.computeSignature(document, { prefix: "ds" }, (error) => {
      if (error) reject(error)
      else resolve(xml.getSignatureXml())
    })
  })
}

const remoteSigner = ({ hash, sign }: Signing): (new () => SignatureAlgorithm) =>
  class RemoteSigner {
    getSignature(
      info: BinaryLike,
      _: KeyLike,
      done?: (error: Error | null, signature?: string) => void,
    ): string {
      if (!done || typeof info !== "string") throw new Error("only text is signed, and not at once")
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
