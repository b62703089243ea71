import {
  createPublicKey,
  type KeyObject,
  verify as verifyBytes,
  X509Certificate,
} from "node:crypto"
import { loadOnce } from "../kernel/lazy.ts"
import { canonicalize } from "./canonical.ts"
import { type Element, escapeLineEnds, isElement } from "./document.ts"
import {
  digestHashes,
  envelopedTransform,
  exclusiveC14n,
  isSignatureAlgorithm,
  signatureAlgorithms,
} from "./names.ts"
import {
  childrenOf,
  elementsIn,
  findAll,
  findAttribute,
  findChild,
  isNamed,
  type MessageReading,
  type MessageSize,
  readMessage,
  requireText,
} from "./read.ts"

/**
 * The only signature of a message, directly below its root, if any. Rejects a message with other or
 * duplicate signatures, whose purpose is ambiguous.
 */
export const findSignature = (root: Element, reading: MessageReading): Element | undefined =>
  findSignatures(root, undefined, reading).outer

/** The signatures of a message, and of the one element in it that can be signed separately. */
export type Signatures = {
  readonly outer: Element | undefined
  readonly inner: Element | undefined
}

/**
 * The same, if one element directly below the root can be signed separately, such as an assertion.
 */
export function findSignatures(
  root: Element,
  inner: Element | undefined,
  reading: MessageReading,
): Signatures {
  const signatures = {
    outer: findChild(root, ["ds", "Signature"], reading),
    inner: inner && findChild(inner, ["ds", "Signature"], reading),
  }
  const seenSignatures = [signatures.outer, signatures.inner]
  if (findAll(root, "ds", "Signature").some((each) => !seenSignatures.includes(each))) {
    throw reading.refusedError(`${reading.name} has a signature in an unexpected place`)
  }
  return signatures
}

/** An element with a signature directly below it; both from the parsed tree. */
export type SignedElementInput = { readonly of: Element; readonly signature: Element }

/**
 * Verifies the enveloped signature of an element, and returns the element as signed: the content
 * that `xml-crypto` reports as signed, parsed again, without the signature and its surroundings.
 * Therefore only signed content can be read, regardless of what the library found in the message.
 * `keys` are those that the sender has registered, in PEM; a key in the message itself is ignored.
 * Undefined if none of them signed it.
 */
export async function verifySignedElement(
  { of, signature }: SignedElementInput,
  { keys, reading }: { readonly keys: readonly string[]; readonly reading: MessageReading },
): Promise<Element | undefined> {
  const contents = parseSignature(of, signature, reading)
  const info = canonicalize(contents.info, contents.infoPrefixes)
  // The library checks the signature last, after canonicalizing the whole message for any sender;
  // check it first.
  const signed = { bytes: Buffer.from(info), signature: contents.value }
  const key = keys.find((each) => isSignedBy([each], contents.algorithm, signed))
  if (key === undefined) return undefined
  const { signedReferences } = await loadLibrary()
  const [text, ...others] = signedReferences(serializeDocument(of), signature.toString(), {
    key,
    info,
  })
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

const loadLibrary = loadOnce(() => import("./signature.ts"))

/**
 * Serializes an element's document. The library's parser receives what the strict one has accepted,
 * with characters that it would treat as line ends as references (XML 1.1 §2.11).
 */
function serializeDocument(of: Element): string {
  let root = of
  while (root.parentNode && isElement(root.parentNode)) root = root.parentNode
  return escapeLineEnds(root.toString())
}

/**
 * Signed content was already parsed within the limits of its message; canonical XML repeats
 * namespaces wherever they are used.
 */
const signedSize: MessageSize = { maxLength: 5_000_000, bounds: [] }

/** The contents of a signature. */
type SignatureContents = {
  readonly info: Element
  /** From `InclusiveNamespaces` of the SignedInfo's canonicalization method. */
  readonly infoPrefixes: readonly string[]
  readonly algorithm: string
  readonly value: Uint8Array
}

/**
 * SAML Core §5.4: one reference, to the element by its ID; only the enveloped-signature and
 * canonicalization transforms; only supported algorithms.
 */
function parseSignature(
  of: Element,
  signature: Element,
  reading: MessageReading,
): SignatureContents {
  const rejectedError = (reason: string) =>
    reading.refusedError(`the signature of ${reading.name} ${reason}`)
  const one = (parent: Element, name: string): Element => {
    const child = findChild(parent, ["ds", name], reading)
    if (!child) throw rejectedError(`has no ${name}`)
    return child
  }
  if (childrenOf(signature, "ds", "Object").length > 0)
    throw rejectedError("must not have an Object")
  const info = one(signature, "SignedInfo")
  const reference = one(info, "Reference")
  const id = of.getAttribute("ID")
  if (!id || reference.getAttribute("URI") !== `#${id}`) {
    throw rejectedError("must reference the element that contains it by its ID")
  }
  const transforms = childrenOf(one(reference, "Transforms"), "ds", "Transform")
  if (transforms.map(algorithmOf).join(" ") !== `${envelopedTransform} ${exclusiveC14n}`) {
    throw rejectedError(
      "must have the transforms enveloped-signature and xml-exc-c14n, and no others",
    )
  }
  const method = one(info, "CanonicalizationMethod")
  if (algorithmOf(method) !== exclusiveC14n) {
    throw rejectedError("must use the canonicalization xml-exc-c14n")
  }
  const algorithm = algorithmOf(one(info, "SignatureMethod"))
  const digest = algorithmOf(one(reference, "DigestMethod"))
  if (!isSignatureAlgorithm(algorithm) || !digestHashes.has(digest)) {
    const algorithmNames = [algorithm, digest].map(
      (name) => name.slice(0, maxEchoedLength) || "none",
    )
    throw rejectedError(`must use RSA with SHA-256 or SHA-512, not ${algorithmNames.join(" and ")}`)
  }
  const infoPrefixes = parsePrefixList(method)
  if (infoPrefixes.length + transforms.flatMap(parsePrefixList).length > maxPrefixes) {
    throw rejectedError(`must have at most ${maxPrefixes} prefixes in InclusiveNamespaces`)
  }
  // It is canonicalized before the sender is authenticated.
  if (!isValidSignedInfo(info)) throw rejectedError("has unexpected elements in its SignedInfo")
  requireText(one(reference, "DigestValue"), reading)
  const value = Buffer.from(requireText(one(signature, "SignatureValue"), reading), "base64")
  return { info, infoPrefixes, algorithm, value }
}

/** Maximum number of characters to repeat to the sender. */
const maxEchoedLength = 100

const algorithmOf = (of: Element): string => findAttribute(of, "Algorithm") ?? ""

/** Each one costs a check of every element; real messages have few. */
const maxPrefixes = 20

/** Exclusive XML Canonicalization 1.0 §4. */
const parsePrefixList = (of: Element): readonly string[] =>
  Array.from(of.childNodes)
    .filter(isElement)
    .filter(
      (each) => each.localName === "InclusiveNamespaces" && each.namespaceURI === exclusiveC14n,
    )
    .flatMap((each) => (findAttribute(each, "PrefixList") ?? "").split(/\s+/))
    .filter((prefix) => prefix !== "")

/** XML Signature §4.4: the allowed children of elements in a SignedInfo. */
const signedInfoChildren: ReadonlyMap<string | null, readonly string[]> = new Map([
  ["SignedInfo", ["CanonicalizationMethod", "SignatureMethod", "Reference"]],
  ["Reference", ["Transforms", "DigestMethod", "DigestValue"]],
  ["Transforms", ["Transform"]],
])

/**
 * Whether it contains nothing else. No supported algorithm has parameters except
 * InclusiveNamespaces; some senders add elements in other namespaces elsewhere, which have no
 * effect.
 */
function isValidSignedInfo(of: Element): boolean {
  const parts = signedInfoChildren.get(of.localName)
  const within = elementsIn(of)
  if (!parts) {
    const isPlain = (each: Element) =>
      each.localName === "InclusiveNamespaces" && elementsIn(each).length === 0
    return within.length <= 1 && within.every(isPlain)
  }
  return within.every(
    (each) => parts.some((part) => isNamed(each, "ds", part)) && isValidSignedInfo(each),
  )
}

/** Whether one of the keys has signed these bytes with a supported algorithm. */
export function isSignedBy(
  keys: readonly string[],
  algorithm: string,
  { bytes, signature }: { readonly bytes: Uint8Array; readonly signature: Uint8Array },
): boolean {
  if (!isSignatureAlgorithm(algorithm)) return false
  const hash = signatureAlgorithms[algorithm]
  // Metadata may contain keys of other types, for signed redirect URLs.
  const isRsa = (key: string) => createPublicKey(key).asymmetricKeyType === "rsa"
  return keys.some((key) => isRsa(key) && verifyBytes(hash, bytes, key, signature))
}

/** Minimum RSA key size in bits. */
const minRsaBits = 2048
const maxRsaBits = 8192

/**
 * The public key of a base64 certificate in metadata, as PEM. Undefined for an invalid certificate,
 * and for keys other than RSA with at least 2048 bits. The rest of the certificate is ignored (SAML
 * Metadata §2.4.1.1): trust is established by the metadata.
 */
export function keyOfCertificate(base64: string): string | undefined {
  const key = readCertificate(base64.replaceAll(/\s/g, ""))?.publicKey
  const { modulusLength = 0 } = key?.asymmetricKeyDetails ?? {}
  if (
    key?.asymmetricKeyType !== "rsa" ||
    modulusLength < minRsaBits ||
    modulusLength > maxRsaBits
  ) {
    return undefined
  }
  return pemOf(key)
}

/** The same for a key on a NIST curve, which only signs redirect URLs. */
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
