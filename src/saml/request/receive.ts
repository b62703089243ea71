import type { RegisteredServiceProvider } from "../../domain/app/index.ts"
import type { Cx } from "../../store/index.ts"
import { isRedirectSigned, type ReceivedMessage, unverifiableReason } from "../../xml/binding.ts"
import { type Element, findChild, isNamed, readMessage, requireText } from "../../xml/read.ts"
import { findSignature, verifySignedElement } from "../../xml/verify.ts"
import { readingOptions, rejectedError } from "../error.ts"
import { checkForApplication } from "../rejected-request.ts"
import { findUsableProvider } from "./response-target.ts"

/**
 * A message of a registered service provider; if it is signed, the part that the signature covers.
 */
export type VerifiedMessage = {
  readonly found: RegisteredServiceProvider
  readonly root: Element
  readonly isSigned: boolean
}

/**
 * Parses a message and verifies its signature, if there is one. Rejects an invalid signature.
 * Undefined if the sender is unknown, or can't receive a response.
 */
export async function openMessage(
  cx: Cx,
  received: ReceivedMessage,
  name: "AuthnRequest" | "LogoutRequest" | "LogoutResponse",
): Promise<VerifiedMessage | undefined> {
  const root = await parseMessage(received, name)
  const found = await findUsableProvider(cx, issuerOf(root))
  if (!found) return undefined
  const { signingKeys: keys, entityId } = found.provider
  const check = () => verifySignature(received, root, { cx, keys, entityId })
  return { found, ...(await checkForApplication(found, check)) }
}

/** Parses a message, which must have this name. */
export async function parseMessage(received: ReceivedMessage, name: string): Promise<Element> {
  const root = await readMessage(received.xml, readingOptions)
  if (!isNamed(root, "samlp", name)) throw rejectedError(`the message must be a samlp:${name}`)
  return root
}

/** The sender whose keys must have signed a message, if it is signed. */
type SenderKeys = { readonly cx: Cx; readonly keys: readonly string[]; readonly entityId: string }

/** The signed part of a message. Rejects an invalid signature. */
export async function verifySignature(
  received: ReceivedMessage,
  root: Element,
  { cx, keys, entityId }: SenderKeys,
): Promise<Pick<VerifiedMessage, "root" | "isSigned">> {
  const signature = findSignature(root, readingOptions)
  if (!signature && !received.signature) return { root, isSigned: false }
  if (keys.length === 0) {
    throw rejectedError(
      "the message is signed, but the registered metadata contains no signing key",
    )
  }
  // Verifying a signature costs more than forging one.
  cx.allowance?.spend("client")
  if (received.signature) {
    // SAML Bindings §3.4.4.1: a message with HTTP-Redirect is signed in the query only.
    if (signature) throw rejectedError("a message with HTTP-Redirect must not have a ds:Signature")
    const problem = unverifiableReason(keys, received.signature)
    if (problem !== undefined) throw rejectedError(problem)
    if (isRedirectSigned(keys, received.signature)) {
      cx.allowance?.refund("client")
      return { root, isSigned: true }
    }
  }
  const read =
    signature &&
    (await verifySignedElement({ of: root, signature }, { keys, reading: readingOptions }))
  if (!read) throw rejectedError("the signature does not match any key of the registered metadata")
  // The Issuer must be covered by the signature.
  if (issuerOf(read) !== entityId) throw rejectedError("the Issuer is not covered by the signature")
  cx.allowance?.refund("client")
  return { root: read, isSigned: true }
}

/** SAML Core §2.2.5; empty if it is missing. */
export const issuerOf = (root: Element): string =>
  requireText(findChild(root, ["saml", "Issuer"], readingOptions), readingOptions)
