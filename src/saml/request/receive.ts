import type { FoundProvider } from "../../domain/app/index.ts"
import type { Cx } from "../../store/index.ts"
import { isAddressSigned, type Received, unsignableWhy } from "../../xml/binding.ts"
import { childOf, type Element, isNamed, readMessage, textOf } from "../../xml/read.ts"
import { signatureIn, signedElement } from "../../xml/verify.ts"
import { reading, refusedError } from "../error.ts"
import { ofApplication } from "../refusal.ts"
import { usableProvider } from "./back.ts"

/** A message of a service provider that is registered, as it was signed where it was. */
export type Opened = {
  readonly found: FoundProvider
  readonly root: Element
  readonly isSigned: boolean
}

/**
 * Opens a message: who sent it, and whether they have signed it. Refuses a signature that is wrong
 * or can't be checked. Undefined where the sender is unknown here, or may not be answered.
 */
export async function opened(
  cx: Cx,
  received: Received,
  name: "AuthnRequest" | "LogoutRequest" | "LogoutResponse",
): Promise<Opened | undefined> {
  const root = await rootNamed(received, name)
  const found = await usableProvider(cx, issuerOf(root))
  if (!found) return undefined
  const { signingKeys: keys, entityId } = found.provider
  const check = () => verified(received, root, { cx, keys, entityId })
  return { found, ...(await ofApplication(found, check)) }
}

/** A message as it came, which must be of this name. */
export async function rootNamed(received: Received, name: string): Promise<Element> {
  const root = await readMessage(received.xml, reading)
  if (!isNamed(root, "samlp", name)) throw refusedError(`a samlp:${name} was expected`)
  return root
}

/** Who must have signed a message, where it is signed. */
type Sender = { readonly cx: Cx; readonly keys: readonly string[]; readonly entityId: string }

/** The message as it was signed; refuses a signature that is wrong or can't be checked. */
export async function verified(
  received: Received,
  root: Element,
  { cx, keys, entityId }: Sender,
): Promise<Pick<Opened, "root" | "isSigned">> {
  const signature = signatureIn(root, reading)
  if (!signature && !received.signature) return { root, isSigned: false }
  if (keys.length === 0) {
    throw refusedError("the message is signed, and the registered metadata has no key for that")
  }
  // To look at one costs more than to make one up.
  cx.allowance?.spend("client")
  if (received.signature) {
    // SAML Bindings §3.4.4.1: what an address brings is signed there, and nowhere else.
    if (signature) throw refusedError("a message in an address must not have a ds:Signature")
    const why = unsignableWhy(keys, received.signature)
    if (why !== undefined) throw refusedError(why)
    if (isAddressSigned(keys, received.signature)) {
      cx.allowance?.refund("client")
      return { root, isSigned: true }
    }
  }
  const read = signature && (await signedElement({ of: root, signature }, { keys, reading }))
  if (!read) throw refusedError("the signature was not made with a key of the registered metadata")
  // Who has signed it must be who it says it is from.
  if (issuerOf(read) !== entityId) throw refusedError("the Issuer is not signed")
  cx.allowance?.refund("client")
  return { root: read, isSigned: true }
}

/** SAML Core §2.2.5; empty where it is missing. */
export const issuerOf = (root: Element): string =>
  textOf(childOf(root, ["saml", "Issuer"], reading), reading)
