import { createPublicKey, verify } from "node:crypto"
import { inflateRawSync } from "node:zlib"
import { addressAlgorithms, signatureNames } from "./names.ts"
import { maxMessageLength } from "./read.ts"
import { signText, type XmlSigner } from "./sign.ts"

/** Whether a message is a request or a response. */
export type MessageKind = "SAMLRequest" | "SAMLResponse"

/** A message received through a browser. */
export type ReceivedMessage = {
  readonly kind: MessageKind
  readonly xml: string
  /** Empty if absent. */
  readonly relayState: string
  /** Only for the redirect binding; with the POST binding, the message contains its signature. */
  readonly signature?: QuerySignature
}

type QuerySignature = {
  readonly algorithm: string
  readonly bytes: Uint8Array
  readonly signature: Uint8Array
}

/**
 * SAML Bindings §3.4.4: parses a redirect URL. Undefined if it contains no message; rejects
 * repeated parameters, invalid compression, and messages that are too large after decompression.
 */
export function parseRedirect(
  search: string,
  rejectedError: (message: string) => Error,
): ReceivedMessage | undefined {
  const raw = parseRawParameters(search, rejectedError)
  const kind = kindOf((name) => raw.has(name), rejectedError)
  if (!kind) return undefined
  const plain = (name: string) => decodeParameter(raw.get(name) ?? "", rejectedError)
  const encoding = plain("SAMLEncoding")
  if (encoding !== "" && encoding !== "urn:oasis:names:tc:SAML:2.0:bindings:URL-Encoding:DEFLATE") {
    throw rejectedError("SAMLEncoding must be DEFLATE or absent")
  }
  const xml = inflate(decodeBase64(plain(kind), rejectedError), rejectedError)
  const received = { kind, xml, relayState: plain("RelayState") }
  const signature = plain("Signature")
  const algorithm = plain("SigAlg")
  if (signature === "" && algorithm === "") return received
  // §3.4.4.1: over the parameters as received, in this order, still encoded.
  const signedNames = [kind, "RelayState", "SigAlg"].filter((name) => raw.has(name))
  const bytes = Buffer.from(signedNames.map((name) => `${name}=${raw.get(name)}`).join("&"))
  return {
    ...received,
    signature: { algorithm, bytes, signature: decodeBase64(signature, rejectedError) },
  }
}

/** SAML Bindings §3.5.4: parses a form, with the same rejections. */
export function parsePost(
  form: URLSearchParams,
  rejectedError: (message: string) => Error,
  maxBytes = maxMessageLength,
): ReceivedMessage | undefined {
  const names = [...form.keys()]
  if (new Set(names).size < names.length) throw rejectedError("a parameter is repeated")
  const kind = kindOf((name) => form.has(name), rejectedError)
  if (!kind) return undefined
  const bytes = decodeBase64(form.get(kind) ?? "", rejectedError, maxBytes)
  return { kind, xml: decodeUtf8(bytes, rejectedError), relayState: form.get("RelayState") ?? "" }
}

/**
 * Whether one of the PEM keys has signed a redirect URL. ECDSA signatures are accepted in the
 * format of XML Signature and in ASN.1, which OpenSSL and Java produce.
 */
export function isRedirectSigned(keys: readonly string[], signed: QuerySignature): boolean {
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

/** Why none of the keys can verify the signature of a redirect URL; undefined if one can. */
export function unverifiableReason(
  keys: readonly string[],
  { algorithm: name }: QuerySignature,
): string | undefined {
  const algorithm = addressAlgorithms.get(name)
  if (!algorithm) {
    return (
      `SigAlg ${name.slice(0, maxEchoedLength) || "(missing)"} is not accepted; use rsa-sha256, ` +
      "rsa-sha384, rsa-sha512, ecdsa-sha256, ecdsa-sha384 or ecdsa-sha512"
    )
  }
  const { key: kind } = algorithm
  const isThere = keys.some((pem) => createPublicKey(pem).asymmetricKeyType === kind)
  return isThere
    ? undefined
    : `SigAlg ${name} requires an ${kind.toUpperCase()} key in the metadata`
}

/** Maximum number of characters to repeat to the sender. */
const maxEchoedLength = 100

/** A message to send, and the state to return with its answer. */
export type OutgoingMessage = {
  readonly kind: MessageKind
  readonly xml: string
  readonly relayState: string
}

/** SAML Bindings §3.4: a redirect URL with a message, signed if there is a `signer` (§3.4.4.1). */
export async function createRedirect(
  to: string,
  sent: OutgoingMessage,
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
  const combined = to.includes("?") ? "&" : "?"
  if (!signer) return `${to}${combined}${query}`
  const signature = await signText(signer, query)
  return `${to}${combined}${query}&Signature=${encodeURIComponent(signature)}`
}

/** SAML Bindings §3.5.4: the form fields for a message. */
export const createPostFields = ({
  kind,
  xml,
  relayState,
}: OutgoingMessage): Readonly<Record<string, string>> => ({
  [kind]: Buffer.from(xml).toString("base64"),
  ...(relayState !== "" && { RelayState: relayState }),
})

function kindOf(
  has: (name: MessageKind) => boolean,
  rejectedError: (message: string) => Error,
): MessageKind | undefined {
  if (has("SAMLRequest") && has("SAMLResponse")) {
    throw rejectedError("SAMLRequest and SAMLResponse can't be combined; send one of them")
  }
  if (has("SAMLRequest")) return "SAMLRequest"
  return has("SAMLResponse") ? "SAMLResponse" : undefined
}

function parseRawParameters(
  search: string,
  rejectedError: (message: string) => Error,
): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (const part of search.replace(/^\?/, "").split("&")) {
    const [name = "", ...value] = part.split("=")
    if (found.has(name)) throw rejectedError("a parameter is repeated")
    found.set(name, value.join("="))
  }
  return found
}

function decodeParameter(raw: string, rejectedError: (message: string) => Error): string {
  try {
    return decodeURIComponent(raw.replaceAll("+", " "))
  } catch {
    throw rejectedError("a parameter is not URL-encoded correctly")
  }
}

/** Base64 in all common variants; some contain line breaks. */
function decodeBase64(
  base64: string,
  rejectedError: (message: string) => Error,
  maxBytes = maxMessageLength,
): Buffer {
  const compact = base64.replaceAll(/[\r\n\t ]/g, "")
  if (compact.length > maxBytes * 2) throw rejectedError("the message is too large")
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(compact)) throw rejectedError("the message is not base64")
  return Buffer.from(compact, "base64")
}

/** Decompression stops when the message exceeds the maximum size. */
function inflate(bytes: Uint8Array, rejectedError: (message: string) => Error): string {
  let plain: Buffer
  try {
    plain = inflateRawSync(bytes, { maxOutputLength: maxMessageLength })
  } catch {
    throw rejectedError(
      `the message is not compressed with DEFLATE, or has more than ${maxMessageLength} bytes`,
    )
  }
  return decodeUtf8(plain, rejectedError)
}

function decodeUtf8(bytes: Uint8Array, rejectedError: (message: string) => Error): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes)
  } catch {
    throw rejectedError("the message must be UTF-8")
  }
}
