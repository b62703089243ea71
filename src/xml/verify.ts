import {
  createPublicKey,
  type KeyObject,
  verify as verifyBytes,
  X509Certificate,
} from "node:crypto"
import { lazily } from "../kernel/lazy.ts"
import { canonical } from "./canonical.ts"
import { type Element, isElement, withLineEnds } from "./document.ts"
import {
  digestHashes,
  enveloped,
  exclusiveC14n,
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
  type MessageSize,
  type Reading,
  readMessage,
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
 * Checks the enveloped signature of an element and returns the element as it was signed: what
 * `xml-crypto` reports as signed, parsed again, without its signature and what surrounded it. So
 * nothing can be read that is not signed, whatever the library found in the message. `keys` are
 * those that the sender has registered, in PEM; a key in the message itself is not used. Undefined
 * if none of them signed it.
 */
export async function signedElement(
  { of, signature }: Enveloped,
  { keys, reading }: { readonly keys: readonly string[]; readonly reading: Reading },
): Promise<Element | undefined> {
  const claims = claimsOf(of, signature, reading)
  const info = canonical(claims.info, claims.infoPrefixes)
  // The library checks the signature last: the whole message would be canonicalized for anybody.
  const signed = { bytes: Buffer.from(info), signature: claims.value }
  const key = keys.find((each) => isSignedBy([each], claims.algorithm, signed))
  if (key === undefined) return undefined
  const { signedReferences } = await loadLibrary()
  const [text, ...others] = signedReferences(textOfTree(of), signature.toString(), { key, info })
  if (text === undefined || others.length > 0) return undefined
  const read = await readMessage(text, { ...reading, size: signedSize })
  const isSame =
    read.namespaceURI === of.namespaceURI &&
    read.localName === of.localName &&
    read.getAttribute("ID") === of.getAttribute("ID")
  if (!isSame) return undefined
  read.parentNode?.removeChild(read)
  return read
}

const loadLibrary = lazily(() => import("./signature.ts"))

/**
 * The document of an element as text. The library's parser gets what the strict one has understood,
 * and characters as references that it would take for line ends (XML 1.1 §2.11).
 */
function textOfTree(of: Element): string {
  let root = of
  while (root.parentNode && isElement(root.parentNode)) root = root.parentNode
  return withLineEnds(root.toString())
}

/**
 * What was signed has been read within the bounds of its message before; canonical, it has each
 * namespace wherever it is used.
 */
const signedSize: MessageSize = { most: 5_000_000, bounds: [] }

/** What a signature claims. */
type Claims = {
  readonly info: Element
  /** Of `InclusiveNamespaces` of the algorithm that canonicalizes the SignedInfo. */
  readonly infoPrefixes: readonly string[]
  readonly algorithm: string
  readonly value: Uint8Array
}

/**
 * SAML Core §5.4: one reference, to the element by its ID; nothing done to it but taking the
 * signature out and writing it canonically; algorithms that are good enough.
 */
function claimsOf(of: Element, signature: Element, reading: Reading): Claims {
  const refused = (why: string) => reading.refusedError(`the signature of ${reading.name} ${why}`)
  const one = (parent: Element, name: string): Element => {
    const child = childOf(parent, ["ds", name], reading)
    if (!child) throw refused(`has no ${name}`)
    return child
  }
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
  const digest = algorithmOf(one(reference, "DigestMethod"))
  if (!isSignatureAlgorithm(algorithm) || !digestHashes.has(digest)) {
    const named = [algorithm, digest].map((name) => name.slice(0, namedMax) || "none")
    throw refused(`must be RSA with SHA-256 or SHA-512, not ${named.join(" and ")}`)
  }
  const infoPrefixes = prefixesOf(method)
  if (infoPrefixes.length + transforms.flatMap(prefixesOf).length > prefixesMax) {
    throw refused(`must have ${prefixesMax} prefixes in InclusiveNamespaces at most`)
  }
  // It is canonicalized before anybody knows whether a stranger has made it up.
  if (!isInfo(info)) throw refused("has elements in its SignedInfo that do not belong there")
  textOf(one(reference, "DigestValue"), reading)
  const value = Buffer.from(textOf(one(signature, "SignatureValue"), reading), "base64")
  return { info, infoPrefixes, algorithm, value }
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
