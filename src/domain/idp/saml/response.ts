import { createPublicKey, hash, X509Certificate } from "node:crypto"
import { Fault } from "../../../kernel/fault.ts"
import type { Cx } from "../../../store/index.ts"
import { decrypted } from "../../../xml/decrypt.ts"
import { statuses } from "../../../xml/names.ts"
import {
  allOf,
  attributeOf,
  childOf,
  childrenOf,
  type Element,
  isNamed,
  type Reading,
  readMessage,
  responseSize,
  textOf,
} from "../../../xml/read.ts"
import { signatureIn, signaturesIn, signedElement } from "../../../xml/verify.ts"
import { answeredBy, type Found } from "../commands.ts"
import type { Kept } from "../intent/kept.ts"
import { type Answer, type Answered, upstreamError } from "../upstream/identity.ts"
import { type Expected, mustBeForUs, refused, subjectOf } from "./assertion.ts"
import { providerNow, providerWithNewKeys, samlOf } from "./known.ts"
import { openersOf } from "./pair.ts"
import { samlIdentity } from "./profile.ts"
import { requestIdOf } from "./request.ts"
import { samlSelf } from "./self.ts"

/** What is wrong with a response; the log has it, and nobody else. */
const reading: Reading = {
  name: "the response",
  refusedError: (message) => new Error(message),
  size: responseSize,
}

type Given = {
  readonly xml: string
  readonly kept: Kept
  /** Whether somebody will ask for the assertion itself, as it was signed. */
  readonly withAssertion: boolean
}

/**
 * SAML Profiles §4.1.4.3: who a response is about, which the provider has signed for us, in answer
 * to our request. Everything that is wrong about it is one fault; what exactly stands in its cause.
 */
export async function finishSaml(cx: Cx, found: Found, given: Given): Promise<Answered> {
  try {
    return answeredBy(cx, found, await answerIn(cx, found, given))
  } catch (cause) {
    if (cause instanceof Fault) throw cause
    throw upstreamError("answer_refused", cause)
  }
}

async function answerIn(cx: Cx, found: Found, given: Given): Promise<Answer> {
  const { id } = found.idp
  const { entityId: audience, acs } = samlSelf(cx, id)
  const { entityId } = samlOf(found)
  const expected: Expected = {
    entityId,
    audience,
    acs,
    requestId: requestIdOf(given.kept),
    now: cx.clock.now(),
  }
  const openers = () => openersOf(cx, found)
  const { signingKeys } = await providerNow(cx, found)
  const first = await authenticated(given.xml, { keys: signingKeys, openers })
  const opened = first ?? (await byNewKeys(cx, found, { ...given, known: signingKeys }))
  if (!opened) throw foreignKeyError(given.xml, signingKeys)
  const { response, assertion, isSigned } = opened
  mustBeForUs(response, { expected, isSigned, reading })
  const subject = subjectOf(assertion, { expected, reading })
  return samlIdentity(found, subject, given.withAssertion ? assertion.toString() : "")
}

type Unknown = Given & { readonly known: readonly string[] }

/** A key that nobody knows may be new, where metadata have an address. */
async function byNewKeys(
  cx: Cx,
  found: Found,
  { xml, known }: Unknown,
): Promise<Authenticated | undefined> {
  const { signingKeys: keys } = await providerWithNewKeys(cx, found)
  const isNew = keys.some((key) => !known.includes(key))
  return isNew ? authenticated(xml, { keys, openers: () => openersOf(cx, found) }) : undefined
}

type Opening = {
  readonly keys: readonly string[]
  /** Asked for where something is encrypted alone: they are sealed. */
  readonly openers: () => readonly Uint8Array<ArrayBuffer>[]
}

/** A response and its one assertion, each as it was signed. */
type Authenticated = {
  readonly response: Element
  readonly assertion: Element
  /** Whether the response is, and not the assertion alone. */
  readonly isSigned: boolean
}

/** Undefined where none of the keys has signed it. */
export async function authenticated(
  text: string,
  opening: Opening,
): Promise<Authenticated | undefined> {
  const { keys } = opening
  const root = await readMessage(text, reading)
  if (!isNamed(root, "samlp", "Response")) throw new Error("a samlp:Response was expected")
  mustHaveWorked(root)
  const [plain] = oneAssertion(root)
  const { outer, inner } = signaturesIn(root, plain, reading)
  const response = outer
    ? await signedElement({ of: root, signature: outer }, { keys, reading })
    : root
  if (!response) return undefined
  const isSigned = outer !== undefined
  // From here on only what was signed is looked at.
  const [clear, sealed] = oneAssertion(response)
  const assertion = sealed
    ? await unsealed(sealed, { ...opening, isSigned })
    : isSigned
      ? clear
      : plain && inner && (await signedElement({ of: plain, signature: inner }, { keys, reading }))
  return assertion && { response, assertion, isSigned }
}

/** The only assertion of a response, in the clear or encrypted; refuses any other number. */
function oneAssertion(root: Element): readonly [Element | undefined, Element | undefined] {
  const clear = childrenOf(root, "saml", "Assertion")
  const sealed = childrenOf(root, "saml", "EncryptedAssertion")
  const everywhere = [...allOf(root, "saml", "Assertion"), ...allOf(root, "xenc", "EncryptedData")]
  if (clear.length + sealed.length !== 1 || everywhere.length !== 1) {
    throw new Error("it must have one assertion")
  }
  return [clear[0], sealed[0]]
}

/** Where the response around it is not signed, it must be so itself. */
async function unsealed(
  sealed: Element,
  { keys, openers, isSigned }: Opening & { readonly isSigned: boolean },
): Promise<Element | undefined> {
  const text = await decrypted(sealed, { keys: openers(), isGuarded: isSigned, reading })
  if (text === undefined) {
    throw refused("saml_encryption", "EncryptedAssertion", algorithmsIn(sealed), ...readable)
  }
  const root = await readMessage(text, reading)
  if (!isNamed(root, "saml", "Assertion")) throw new Error("a saml:Assertion was expected")
  if (allOf(root, "saml", "Assertion").length > 1) throw new Error("it must have one assertion")
  const signature = signatureIn(root, reading)
  if (signature) return signedElement({ of: root, signature }, { keys, reading })
  return isSigned ? root : undefined
}

/** SAML Core §3.2.2: why a provider has signed nobody in. */
function mustHaveWorked(root: Element): void {
  const status = childOf(root, ["samlp", "Status"], reading)
  const code = status && childOf(status, ["samlp", "StatusCode"], reading)
  const top = attributeOf(code, "Value")
  if (top === statuses.success) return
  const why = code && childOf(code, ["samlp", "StatusCode"], reading)
  const said = status && textOf(childOf(status, ["samlp", "StatusMessage"], reading), reading)
  const detail = attributeOf(why, "Value")
  if (detail === statuses.authnFailed || detail === statuses.requestDenied) {
    throw upstreamError("cancelled")
  }
  const shown = [top, detail, said].filter((each) => each).join(", ")
  throw refused("saml_status", "Status", shown, statuses.success)
}

/** Where the response itself is signed, AES-CBC will do, too. */
const readable = ["AES-GCM and RSA-OAEP, for the certificate in our metadata"]

/** What an assertion is encrypted by, as far as it says. */
const algorithmsIn = (sealed: Element): string =>
  allOf(sealed, "xenc", "EncryptionMethod")
    .map((each) => attributeOf(each, "Algorithm"))
    .filter((each) => each)
    .join(" and ")

const certificateIn = /<(?:\w+:)?X509Certificate>([^<]{1,8000})</

/** Keys are compared by their SHA-256; that of the certificate which came along proves nothing. */
function foreignKeyError(xml: string, keys: readonly string[]): Error {
  const [, certificate] = certificateIn.exec(xml) ?? []
  const received = certificate && certificateKey(certificate)
  return refused("saml_signature", "key of the signature", received, ...keys.map(keyHash))
}

const keyHash = (key: string): string =>
  hash("sha256", createPublicKey(key).export({ type: "spki", format: "der" }), "hex")

function certificateKey(base64: string): string | undefined {
  try {
    const { publicKey } = new X509Certificate(Buffer.from(base64, "base64"))
    return hash("sha256", publicKey.export({ type: "spki", format: "der" }), "hex")
  } catch {
    // Whatever a stranger has put there, the answer is refused for its key.
    return undefined
  }
}
