import { samlKeys } from "../../domain/key/index.ts"
import { type ShowPage, showContinue } from "../../login/index.ts"
import { postAnswer, redirect } from "../../oauth/index.ts"
import type { Cx } from "../../store/index.ts"
import { type MessageKind, toAddress, toFields } from "../../xml/binding.ts"
import type { Binding, Status } from "../../xml/names.ts"
import { signed, type XmlSigner } from "../../xml/sign.ts"
import { type Written, write } from "../../xml/write.ts"
import type { Back } from "../request/back.ts"
import { message, statusOf } from "./message.ts"

/** A message on its way through the browser. */
export type Way = {
  readonly kind: MessageKind
  readonly node: Written
  readonly url: string
  readonly binding: Binding
  readonly relayState: string
  /** What signs it; the keys that applications know us by where it isn't said. */
  readonly signer?: XmlSigner
}

/** What the browser is to do with a message: open an address, or post a form. */
export type Sending =
  | { readonly url: string }
  | { readonly url: string; readonly fields: Readonly<Record<string, string>> }

/** Signs a message, where its binding has the signature (SAML Bindings §3.4.4.1 and §3.5.4). */
export async function sendingOf(cx: Cx, way: Way): Promise<Sending> {
  const { kind, node, url, binding, relayState } = way
  const signer = way.signer ?? (await samlKeys(cx))
  if (binding === "redirect") {
    return { url: await toAddress(url, { kind, xml: write(node), relayState }, signer) }
  }
  // SAML Core §3.2: the signature stands right behind the Issuer.
  const xml = write(await signed(node, 1, signer))
  return { url, fields: toFields({ kind, xml, relayState }) }
}

/** The page that takes a message on, where one does. */
export type Showing = {
  readonly show: ShowPage
  readonly application: string
  /** Set-Cookie lines. */
  readonly cookies: readonly (string | undefined)[]
  /** Present where a form of ours may have led here: then a page sends the browser on. */
  readonly afterForm?: "signed_in" | "refused"
}

/** Has the browser take a message on. */
export async function send(cx: Cx, way: Way, showing: Showing): Promise<Response> {
  const sending = await sendingOf(cx, way)
  const { show, application, cookies, afterForm } = showing
  const { url } = sending
  if ("fields" in sending) {
    const { fields } = sending
    return postAnswer(cx, show, { redirectUri: url, fields, application, cookies })
  }
  if (afterForm === undefined) return redirect(url, ...cookies)
  return showContinue(show, cx, { href: url, application, cookies, why: afterForm })
}

/** An answer that signs nobody in: the service provider learns why. */
export function refusalOf(cx: Cx, back: Back, status: Status, why: string): Way {
  const said = `${why} (request ${cx.requestId})`
  const { url: destination, requestId: inResponseTo } = back
  const node = message(cx, "samlp:Response", { destination, inResponseTo }, statusOf(status, said))
  return wayOf(back, node)
}

/** The way of an answer. */
export const wayOf = ({ url, binding, relayState }: Back, node: Written): Way => ({
  kind: "SAMLResponse",
  node,
  url,
  binding,
  relayState,
})
