import {
  createHash,
  createPublicKey,
  type KeyObject,
  verify as verifyBytes,
  X509Certificate,
} from "node:crypto"
import { canonical } from "./canonical.ts"
import { type Element, isElement } from "./document.ts"
import {
  digestHashes,
  enveloped,
  exclusiveC14n,
  type Hash,
  isSignatureAlgorithm,
  signatureAlgorithms,
} from "./names.ts"
import {
  allOf,
  attributeOf,
  childOf,
  childrenOf,
  elementsIn,
  isNamed,
  type Reading,
  textOf,
} from "./read.ts"

/**
 * The one signature of a message, which stands right below its root; undefined for none. Refuses a
 * message in which a signature stands anywhere else, or twice: nobody can say what it is for.
 */
export const signatureIn = (root: Element, reading: Reading): Element | undefined =>
  signaturesIn(root, undefined, reading).outer

/** The signatures of a message, and of the one element in it that may have its own. */
export type Signatures = {
  readonly outer: Element | undefined
  readonly inner: Element | undefined
}

/** The same where one element right below the root may be signed by itself, as an assertion is. */
export function signaturesIn(
  root: Element,
  inner: Element | undefined,
  reading: Reading,
): Signatures {
  const signatures = {
    outer: childOf(root, ["ds", "Signature"], reading),
    inner: inner && childOf(inner, ["ds", "Signature"], reading),
  }
  const known = [signatures.outer, signatures.inner]
  if (allOf(root, "ds", "Signature").some((each) => !known.includes(each))) {
    throw reading.refusedError(`${reading.name} has a signature where none may stand`)
  }
  return signatures
}

/** An element that has a signature right below it; both are of the tree that was read. */
export type Enveloped = { readonly of: Element; readonly signature: Element }

/**
 * Checks the enveloped signature of an element and answers the element as it was signed, by itself:
 * the signature is taken out of it, and it out of what stands around it. The digest is of what this
 * very tree is written as, so nothing can be read that is not signed. `keys` are those that the
 * sender has registered, in PEM; a key that comes along in the message says nothing. Undefined
 * where none of them has signed it.
 */
export function signedElement(
  { of, signature }: Enveloped,
  { keys, reading }: { readonly keys: readonly string[]; readonly reading: Reading },
): Element | undefined {
  const told = toldBy(of, signature, reading)
  const info = canonical(told.info, told.infoPrefixes)
  const signed = { bytes: Buffer.from(info), signature: told.value }
  // Before the whole message is written canonically for whoever has sent one.
  if (!isSignedBy(keys, told.algorithm, signed)) return undefined
  of.removeChild(signature)
  const text = canonical(of, told.prefixes)
  // Half a pair has no bytes of its own: another sign would have the same.
  if (!text.isWellFormed() || !info.isWellFormed()) return undefined
  if (!createHash(told.hash).update(text).digest().equals(told.digest)) return undefined
  of.parentNode?.removeChild(of)
  return of
}

/** What a signature says of itself. */
type Told = {
  readonly info: Element
  /** Of `InclusiveNamespaces` of the algorithm that writes the SignedInfo canonically. */
  readonly infoPrefixes: readonly string[]
  readonly algorithm: string
  readonly value: Uint8Array
  readonly prefixes: readonly string[]
  readonly hash: Hash
  readonly digest: Uint8Array
}

/**
 * SAML Core §5.4: one reference, to the element by its ID; nothing done to it but taking the
 * signature out and writing it canonically; algorithms that are good enough.
 */
function toldBy(of: Element, signature: Element, reading: Reading): Told {
  const refused = (why: string) => reading.refusedError(`the signature of ${reading.name} ${why}`)
  const one = (parent: Element, name: string): Element => {
    const child = childOf(parent, ["ds", name], reading)
    if (!child) throw refused(`has no ${name}`)
    return child
  }
  const bytesIn = (parent: Element, name: string): Uint8Array =>
    Buffer.from(textOf(one(parent, name), reading), "base64")
  if (childrenOf(signature, "ds", "Object").length > 0) throw refused("must not have an Object")
  const info = one(signature, "SignedInfo")
  const reference = one(info, "Reference")
  const id = of.getAttribute("ID")
  if (!id || reference.getAttribute("URI") !== `#${id}`) {
    throw refused("must be about the element that it stands in, by its ID")
  }
  const transforms = childrenOf(one(reference, "Transforms"), "ds", "Transform")
  if (transforms.map(algorithmOf).join(" ") !== `${enveloped} ${exclusiveC14n}`) {
    throw refused("must have the transforms enveloped-signature and xml-exc-c14n, and no others")
  }
  const method = one(info, "CanonicalizationMethod")
  if (algorithmOf(method) !== exclusiveC14n) {
    throw refused("must be canonicalised by xml-exc-c14n")
  }
  const algorithm = algorithmOf(one(info, "SignatureMethod"))
  const hash = digestHashes.get(algorithmOf(one(reference, "DigestMethod")))
  if (!isSignatureAlgorithm(algorithm) || !hash) {
    const digest = algorithmOf(one(reference, "DigestMethod"))
    const named = [algorithm, digest].map((name) => name.slice(0, namedMax) || "none")
    throw refused(`must be RSA with SHA-256 or SHA-512, not ${named.join(" and ")}`)
  }
  const infoPrefixes = prefixesOf(method)
  const prefixes = transforms.flatMap(prefixesOf)
  if (infoPrefixes.length + prefixes.length > prefixesMax) {
    throw refused(`must have ${prefixesMax} prefixes in InclusiveNamespaces at most`)
  }
  // It is written canonically before anybody knows whether a stranger has made it up.
  if (!isInfo(info)) throw refused("has elements in its SignedInfo that do not belong there")
  return {
    ...{ info, infoPrefixes, algorithm, prefixes, hash },
    value: bytesIn(signature, "SignatureValue"),
    digest: bytesIn(reference, "DigestValue"),
  }
}

/** Characters of what is repeated to its sender. */
const namedMax = 100

const algorithmOf = (of: Element): string => attributeOf(of, "Algorithm") ?? ""

/** Each costs a look at every element; those who have any have a few. */
const prefixesMax = 20

/** Exclusive XML Canonicalization 1.0 §4. */
const prefixesOf = (of: Element): readonly string[] =>
  Array.from(of.childNodes)
    .filter(isElement)
    .filter(
      (each) => each.localName === "InclusiveNamespaces" && each.namespaceURI === exclusiveC14n,
    )
    .flatMap((each) => (attributeOf(each, "PrefixList") ?? "").split(/\s+/))
    .filter((prefix) => prefix !== "")

/** XML Signature §4.4: which elements stand right below those of a SignedInfo. */
const infoParts: ReadonlyMap<string | null, readonly string[]> = new Map([
  ["SignedInfo", ["CanonicalizationMethod", "SignatureMethod", "Reference"]],
  ["Reference", ["Transforms", "DigestMethod", "DigestValue"]],
  ["Transforms", ["Transform"]],
])

/**
 * Whether nothing else stands there. No algorithm of ours has a parameter but InclusiveNamespaces;
 * some put it into a namespace of their own where it says nothing.
 */
function isInfo(of: Element): boolean {
  const parts = infoParts.get(of.localName)
  const within = elementsIn(of)
  if (!parts) {
    const isPlain = (each: Element) =>
      each.localName === "InclusiveNamespaces" && elementsIn(each).length === 0
    return within.length <= 1 && within.every(isPlain)
  }
  return within.every((each) => parts.some((part) => isNamed(each, "ds", part)) && isInfo(each))
}

/** Whether one of the keys has signed these bytes, by an algorithm that is good enough. */
export function isSignedBy(
  keys: readonly string[],
  algorithm: string,
  { bytes, signature }: { readonly bytes: Uint8Array; readonly signature: Uint8Array },
): boolean {
  if (!isSignatureAlgorithm(algorithm)) return false
  const hash = signatureAlgorithms[algorithm]
  // Metadata may have keys of other kinds, for signatures of addresses.
  const isRsa = (key: string) => createPublicKey(key).asymmetricKeyType === "rsa"
  return keys.some((key) => isRsa(key) && verifyBytes(hash, bytes, key, signature))
}

/** RSA bits below which a key proves nothing any more. */
const bitsMin = 2048
const bitsMax = 8192

/**
 * The public key of a certificate in base64, as metadata has it, in PEM. Undefined for what is no
 * certificate, and for keys other than RSA from 2048 bits. The rest of the certificate means
 * nothing (SAML Metadata §2.4.1.1): trust comes with the metadata.
 */
export function keyOfCertificate(base64: string): string | undefined {
  const key = readCertificate(base64.replaceAll(/\s/g, ""))?.publicKey
  const { modulusLength = 0 } = key?.asymmetricKeyDetails ?? {}
  if (key?.asymmetricKeyType !== "rsa" || modulusLength < bitsMin || modulusLength > bitsMax) {
    return undefined
  }
  return pemOf(key)
}

/** The same of a key on one of the curves of NIST, which signs addresses only. */
export function curveKeyOfCertificate(base64: string): string | undefined {
  const key = readCertificate(base64.replaceAll(/\s/g, ""))?.publicKey
  const { namedCurve = "" } = key?.asymmetricKeyDetails ?? {}
  return key && curves.includes(namedCurve) ? pemOf(key) : undefined
}

const curves: readonly string[] = ["prime256v1", "secp384r1", "secp521r1"]

const pemOf = (key: KeyObject): string => key.export({ format: "pem", type: "spki" }).toString()

function readCertificate(base64: string): X509Certificate | undefined {
  try {
    return new X509Certificate(Buffer.from(base64, "base64"))
  } catch {
    return undefined
  }
}
