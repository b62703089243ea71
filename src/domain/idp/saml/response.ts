import { createPublicKey, hash, X509Certificate } from "node:crypto"
import { Fault } from "../../../kernel/fault.ts"
import type { Cx } from "../../../store/index.ts"
import { decryptElement } from "../../../xml/decrypt.ts"
import { statuses } from "../../../xml/names.ts"
import {
  childrenOf,
  type Element,
  findAll,
  findAttribute,
  findChild,
  isNamed,
  type MessageReading,
  readMessage,
  requireText,
  responseSize,
} from "../../../xml/read.ts"
import { findSignature, findSignatures, verifySignedElement } from "../../../xml/verify.ts"
import { type OwnedIdp, withAuthority } from "../commands.ts"
import type { FlowState } from "../intent/flow-state.ts"
import {
  type AuthenticatedAnswer,
  type ProviderAnswer,
  upstreamError,
} from "../upstream/identity.ts"
import { type Expected, parseSubject, refusedAnswerError, validateResponse } from "./assertion.ts"
import { decryptionKeysOf } from "./key-pair.ts"
import { samlIdentity } from "./profile.ts"
import { currentProvider, refreshForUnknownKey, samlOf } from "./refresh.ts"
import { requestIdOf } from "./request.ts"
import { serviceProviderFor } from "./service-provider.ts"

/** Parse options. The errors appear only in the log. */
const reading: MessageReading = {
  name: "the response",
  refusedError: (message) => new Error(message),
  size: responseSize,
}

type ResponseInput = {
  readonly xml: string
  readonly kept: FlowState
  /** Whether the signed assertion itself is needed later. */
  readonly withAssertion: boolean
}

/**
 * SAML Profiles §4.1.4.3: verifies the provider's signed response to our request and returns the
 * subject. All failures are one fault; the cause has the details.
 */
export async function finishSamlSignIn(
  cx: Cx,
  ownedIdp: OwnedIdp,
  input: ResponseInput,
): Promise<AuthenticatedAnswer> {
  try {
    return withAuthority(cx, ownedIdp, await parseAnswer(cx, ownedIdp, input))
  } catch (cause) {
    if (cause instanceof Fault) throw cause
    throw upstreamError("answer_refused", cause)
  }
}

async function parseAnswer(
  cx: Cx,
  ownedIdp: OwnedIdp,
  input: ResponseInput,
): Promise<ProviderAnswer> {
  const { id } = ownedIdp.idp
  const { entityId: audience, acs } = serviceProviderFor(cx, id)
  const { entityId } = samlOf(ownedIdp)
  const expected: Expected = {
    entityId,
    audience,
    acs,
    requestId: requestIdOf(input.kept),
    now: cx.clock.now(),
  }
  const openers = () => decryptionKeysOf(cx, ownedIdp)
  const { signingKeys } = await currentProvider(cx, ownedIdp)
  const first = await authenticateResponse(input.xml, {
    keys: signingKeys,
    decryptionKeys: openers,
  })
  const opened =
    first ?? (await authenticateWithNewKeys(cx, ownedIdp, { ...input, known: signingKeys }))
  if (!opened) throw unknownKeyError(input.xml, signingKeys)
  const { response, assertion, isSigned } = opened
  validateResponse(response, { expected, isSigned, reading })
  const subject = parseSubject(assertion, { expected, reading })
  return samlIdentity(ownedIdp, subject, input.withAssertion ? assertion.toString() : "")
}

type UnknownKeyInput = ResponseInput & { readonly known: readonly string[] }

/** An unknown key may be new if the metadata have a URL. */
async function authenticateWithNewKeys(
  cx: Cx,
  ownedIdp: OwnedIdp,
  { xml, known: knownKeys }: UnknownKeyInput,
): Promise<AuthenticatedResponse | undefined> {
  const { signingKeys: keys } = await refreshForUnknownKey(cx, ownedIdp)
  const isNew = keys.some((key) => !knownKeys.includes(key))
  return isNew
    ? authenticateResponse(xml, { keys, decryptionKeys: () => decryptionKeysOf(cx, ownedIdp) })
    : undefined
}

type VerificationKeys = {
  readonly keys: readonly string[]
  /** Only called for encrypted assertions, because the keys are stored sealed. */
  readonly decryptionKeys: () => readonly Uint8Array<ArrayBuffer>[]
}

/** A response and its single assertion, as signed. */
type AuthenticatedResponse = {
  readonly response: Element
  readonly assertion: Element
  /** Whether the whole response is signed, not only the assertion. */
  readonly isSigned: boolean
}

/** Returns undefined if none of the keys made the signature. */
export async function authenticateResponse(
  text: string,
  opening: VerificationKeys,
): Promise<AuthenticatedResponse | undefined> {
  const { keys } = opening
  const root = await readMessage(text, reading)
  if (!isNamed(root, "samlp", "Response")) throw new Error("a samlp:Response was expected")
  requireSuccess(root)
  const [plain] = findSingleAssertion(root)
  const { outer, inner } = findSignatures(root, plain, reading)
  const response = outer
    ? await verifySignedElement({ of: root, signature: outer }, { keys, reading })
    : root
  if (!response) return undefined
  const isSigned = outer !== undefined
  // From here on, only signed elements are read.
  const [clear, sealed] = findSingleAssertion(response)
  const assertion = sealed
    ? await decryptAssertion(sealed, { ...opening, isSigned })
    : isSigned
      ? clear
      : plain &&
        inner &&
        (await verifySignedElement({ of: plain, signature: inner }, { keys, reading }))
  return assertion && { response, assertion, isSigned }
}

/** The single assertion of a response, plain or encrypted. Rejects any other number. */
function findSingleAssertion(root: Element): readonly [Element | undefined, Element | undefined] {
  const clear = childrenOf(root, "saml", "Assertion")
  const sealed = childrenOf(root, "saml", "EncryptedAssertion")
  const everywhere = [
    ...findAll(root, "saml", "Assertion"),
    ...findAll(root, "xenc", "EncryptedData"),
  ]
  if (clear.length + sealed.length !== 1 || everywhere.length !== 1) {
    throw new Error("the response must contain exactly one assertion")
  }
  return [clear[0], sealed[0]]
}

/** If the response is not signed, the assertion must be. */
async function decryptAssertion(
  sealed: Element,
  { keys, decryptionKeys: openers, isSigned }: VerificationKeys & { readonly isSigned: boolean },
): Promise<Element | undefined> {
  const text = await decryptElement(sealed, { keys: openers(), isGuarded: isSigned, reading })
  if (text === undefined) {
    throw refusedAnswerError(
      "saml_encryption",
      "EncryptedAssertion",
      encryptionAlgorithmsOf(sealed),
      ...supportedEncryption,
    )
  }
  const root = await readMessage(text, reading)
  if (!isNamed(root, "saml", "Assertion")) throw new Error("a saml:Assertion was expected")
  if (findAll(root, "saml", "Assertion").length > 1)
    throw new Error("the encrypted element must contain exactly one assertion")
  const signature = findSignature(root, reading)
  if (signature) return verifySignedElement({ of: root, signature }, { keys, reading })
  return isSigned ? root : undefined
}

/** SAML Core §3.2.2: rejects a response without success status. */
function requireSuccess(root: Element): void {
  const status = findChild(root, ["samlp", "Status"], reading)
  const code = status && findChild(status, ["samlp", "StatusCode"], reading)
  const top = findAttribute(code, "Value")
  if (top === statuses.success) return
  const subcode = code && findChild(code, ["samlp", "StatusCode"], reading)
  const statusText =
    status && requireText(findChild(status, ["samlp", "StatusMessage"], reading), reading)
  const detail = findAttribute(subcode, "Value")
  if (detail === statuses.authnFailed || detail === statuses.requestDenied) {
    throw upstreamError("cancelled")
  }
  const shown = [top, detail, statusText].filter((each) => each).join(", ")
  throw refusedAnswerError("saml_status", "Status", shown, statuses.success)
}

/** AES-CBC is also accepted if the response itself is signed. */
const supportedEncryption = ["AES-GCM and RSA-OAEP, for the certificate in this server's metadata"]

/** The encryption algorithms of an assertion, as stated. */
const encryptionAlgorithmsOf = (sealed: Element): string =>
  findAll(sealed, "xenc", "EncryptionMethod")
    .map((each) => findAttribute(each, "Algorithm"))
    .filter((each) => each)
    .join(" and ")

const certificatePattern = /<(?:\w+:)?X509Certificate>([^<]{1,8000})</

/** Names keys by their SHA-256. The certificate in the response is only shown, never trusted. */
function unknownKeyError(xml: string, keys: readonly string[]): Error {
  const [, certificate] = certificatePattern.exec(xml) ?? []
  const received = certificate && publicKeyOfCertificate(certificate)
  return refusedAnswerError(
    "saml_signature",
    "key of the signature",
    received,
    ...keys.map(keyHash),
  )
}

const keyHash = (key: string): string =>
  hash("sha256", createPublicKey(key).export({ type: "spki", format: "der" }), "hex")

function publicKeyOfCertificate(base64: string): string | undefined {
  try {
    const { publicKey } = new X509Certificate(Buffer.from(base64, "base64"))
    return hash("sha256", publicKey.export({ type: "spki", format: "der" }), "hex")
  } catch {
    // Invalid certificate: the response is rejected because of its key anyway.
    return undefined
  }
}
