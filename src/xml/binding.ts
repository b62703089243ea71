import { createPublicKey, verify } from "node:crypto"
import { inflateRawSync } from "node:zlib"
import { addressAlgorithms, signatureNames } from "./names.ts"
import { messageMax } from "./read.ts"
import { signatureOf, type XmlSigner } from "./sign.ts"

/** Whether a message asks or answers. */
export type MessageKind = "SAMLRequest" | "SAMLResponse"

/** A message as it came through a browser. */
export type Received = {
  readonly kind: MessageKind
  readonly xml: string
  /** Empty where there was none. */
  readonly relayState: string
  /** Of the address alone; in a form, the message carries its own. */
  readonly signature?: QuerySignature
}

type QuerySignature = {
  readonly algorithm: string
  readonly bytes: Uint8Array
  readonly signature: Uint8Array
}

/**
 * SAML Bindings §3.4.4: what an address brings. Undefined where it brings no message; refuses what
 * is repeated, does not unpack, or unpacks to more than a message may have.
 */
export function fromAddress(
  search: string,
  refusedError: (message: string) => Error,
): Received | undefined {
  const raw = rawParameters(search, refusedError)
  const kind = kindOf((name) => raw.has(name), refusedError)
  if (!kind) return undefined
  const plain = (name: string) => decoded(raw.get(name) ?? "", refusedError)
  const encoding = plain("SAMLEncoding")
  if (encoding !== "" && encoding !== "urn:oasis:names:tc:SAML:2.0:bindings:URL-Encoding:DEFLATE") {
    throw refusedError("SAMLEncoding must be DEFLATE, or absent")
  }
  const xml = inflated(bytesOf(plain(kind), refusedError), refusedError)
  const received = { kind, xml, relayState: plain("RelayState") }
  const signature = plain("Signature")
  const algorithm = plain("SigAlg")
  if (signature === "" && algorithm === "") return received
  // §3.4.4.1: of the parameters as they came, in this order, still encoded.
  const signedNames = [kind, "RelayState", "SigAlg"].filter((name) => raw.has(name))
  const bytes = Buffer.from(signedNames.map((name) => `${name}=${raw.get(name)}`).join("&"))
  return {
    ...received,
    signature: { algorithm, bytes, signature: bytesOf(signature, refusedError) },
  }
}

/** SAML Bindings §3.5.4: what a form brings; refuses the same. */
export function fromForm(
  form: URLSearchParams,
  refusedError: (message: string) => Error,
  most = messageMax,
): Received | undefined {
  const names = [...form.keys()]
  if (new Set(names).size < names.length) throw refusedError("a parameter is repeated")
  const kind = kindOf((name) => form.has(name), refusedError)
  if (!kind) return undefined
  const bytes = bytesOf(form.get(kind) ?? "", refusedError, most)
  return { kind, xml: utf8(bytes, refusedError), relayState: form.get("RelayState") ?? "" }
}

/**
 * Whether one of the keys, in PEM, has signed what an address brought. A signature by ECDSA is
 * accepted as XML Signature writes it, and as ASN.1, as OpenSSL and Java make it.
 */
export function isAddressSigned(keys: readonly string[], signed: QuerySignature): boolean {
  const algorithm = addressAlgorithms.get(signed.algorithm)
  if (!algorithm) return false
  const { key: kind, hash } = algorithm
  const encodings = kind === "ec" ? (["ieee-p1363", "der"] as const) : (["der"] as const)
  return keys
    .map((pem) => createPublicKey(pem))
    .filter(({ asymmetricKeyType }) => asymmetricKeyType === kind)
    .some((key) =>
      encodings.some((dsaEncoding) =>
        verify(hash, signed.bytes, { key, dsaEncoding }, signed.signature),
      ),
    )
}

/** Why none of the keys could have signed what an address brought; undefined where one could. */
export function unsignableWhy(
  keys: readonly string[],
  { algorithm: name }: QuerySignature,
): string | undefined {
  const algorithm = addressAlgorithms.get(name)
  if (!algorithm) {
    return (
      `SigAlg ${name.slice(0, algorithmMax) || "(missing)"} is not accepted; use rsa-sha256, ` +
      "rsa-sha384, rsa-sha512, ecdsa-sha256, ecdsa-sha384 or ecdsa-sha512"
    )
  }
  const { key: kind } = algorithm
  const isThere = keys.some((pem) => createPublicKey(pem).asymmetricKeyType === kind)
  return isThere ? undefined : `SigAlg ${name} needs an ${kind.toUpperCase()} key in the metadata`
}

/** Characters of what is repeated to its sender. */
const algorithmMax = 100

/** What is sent: the text of a message, and what comes back with the answer to it. */
export type Sent = {
  readonly kind: MessageKind
  readonly xml: string
  readonly relayState: string
}

/** SAML Bindings §3.4: an address that brings a message, signed where `signer` is (§3.4.4.1). */
export async function toAddress(
  to: string,
  sent: Sent,
  signer: XmlSigner | undefined,
): Promise<string> {
  const { kind, xml, relayState } = sent
  const message = Buffer.from(Bun.deflateSync(Buffer.from(xml))).toString("base64")
  const parameters = [
    [kind, message],
    ...(relayState === "" ? [] : [["RelayState", relayState]]),
    ...(signer ? [["SigAlg", signatureNames[signer.hash]]] : []),
  ]
  const query = parameters
    .map(([name, value = ""]) => `${name}=${encodeURIComponent(value)}`)
    .join("&")
  const joint = to.includes("?") ? "&" : "?"
  if (!signer) return `${to}${joint}${query}`
  const signature = await signatureOf(signer, query)
  return `${to}${joint}${query}&Signature=${encodeURIComponent(signature)}`
}

/** SAML Bindings §3.5.4: the fields of a form that brings a message. */
export const toFields = ({ kind, xml, relayState }: Sent): Readonly<Record<string, string>> => ({
  [kind]: Buffer.from(xml).toString("base64"),
  ...(relayState !== "" && { RelayState: relayState }),
})

function kindOf(
  has: (name: MessageKind) => boolean,
  refusedError: (message: string) => Error,
): MessageKind | undefined {
  if (has("SAMLRequest") && has("SAMLResponse")) {
    throw refusedError("there is a SAMLRequest and a SAMLResponse; send one of them")
  }
  if (has("SAMLRequest")) return "SAMLRequest"
  return has("SAMLResponse") ? "SAMLResponse" : undefined
}

function rawParameters(
  search: string,
  refusedError: (message: string) => Error,
): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (const part of search.replace(/^\?/, "").split("&")) {
    const [name = "", ...value] = part.split("=")
    if (found.has(name)) throw refusedError("a parameter is repeated")
    found.set(name, value.join("="))
  }
  return found
}

function decoded(raw: string, refusedError: (message: string) => Error): string {
  try {
    return decodeURIComponent(raw.replaceAll("+", " "))
  } catch {
    throw refusedError("a parameter is not encoded as an address wants it")
  }
}

/** Base64 in the spellings that are about; some break its lines. */
function bytesOf(
  base64: string,
  refusedError: (message: string) => Error,
  most = messageMax,
): Buffer {
  const compact = base64.replaceAll(/[\r\n\t ]/g, "")
  if (compact.length > most * 2) throw refusedError("the message is too large")
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(compact)) throw refusedError("the message is not base64")
  return Buffer.from(compact, "base64")
}

/** A message that grows without end is cut off where it is larger than any may be. */
function inflated(bytes: Uint8Array, refusedError: (message: string) => Error): string {
  let plain: Buffer
  try {
    plain = inflateRawSync(bytes, { maxOutputLength: messageMax })
  } catch {
    throw refusedError(`the message is not deflated, or has more than ${messageMax} bytes`)
  }
  return utf8(plain, refusedError)
}

function utf8(bytes: Uint8Array, refusedError: (message: string) => Error): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes)
  } catch {
    throw refusedError("the message must be UTF-8")
  }
}
