import { getSamlKeys } from "../../domain/key/index.ts"
import { type ShowPage, showContinue } from "../../login/index.ts"
import { postResponse, redirect } from "../../oauth/index.ts"
import type { Cx } from "../../store/index.ts"
import { createPostFields, createRedirect, type MessageKind } from "../../xml/binding.ts"
import type { Binding, Status } from "../../xml/names.ts"
import { signElement, type XmlSigner } from "../../xml/sign.ts"
import { serialize, type XmlNode } from "../../xml/write.ts"
import type { ResponseTarget } from "../request/response-target.ts"
import { buildMessage, buildStatus } from "./message.ts"

/** A message to be sent through the browser. */
export type OutgoingMessage = {
  readonly kind: MessageKind
  readonly node: XmlNode
  readonly url: string
  readonly binding: Binding
  readonly relayState: string
  /** The signing key; by default that of this server. */
  readonly signer?: XmlSigner
}

/** What the browser must do to deliver a message: open a URL or post a form. */
export type Delivery =
  | { readonly url: string }
  | { readonly url: string; readonly fields: Readonly<Record<string, string>> }

/** Signs a message as its binding requires (SAML Bindings §3.4.4.1 and §3.5.4). */
export async function createSignedDelivery(cx: Cx, outgoing: OutgoingMessage): Promise<Delivery> {
  const { kind, node, url, binding, relayState } = outgoing
  const signer = outgoing.signer ?? (await getSamlKeys(cx))
  if (binding === "redirect") {
    return { url: await createRedirect(url, { kind, xml: serialize(node), relayState }, signer) }
  }
  // SAML Core §3.2: the signature immediately follows the Issuer.
  const xml = serialize(await signElement(node, 1, signer))
  return { url, fields: createPostFields({ kind, xml, relayState }) }
}

/** Options for the page that delivers a message, if one is needed. */
export type DeliveryPageOptions = {
  readonly show: ShowPage
  readonly application: string
  /** Set-Cookie headers. */
  readonly cookies: readonly (string | undefined)[]
  /** Present if one of our forms may have led here: then a page redirects the browser. */
  readonly afterForm?: "signed_in" | "refused"
}

/** Makes the browser deliver a message. */
export async function send(
  cx: Cx,
  outgoing: OutgoingMessage,
  options: DeliveryPageOptions,
): Promise<Response> {
  const sending = await createSignedDelivery(cx, outgoing)
  const { show, application, cookies, afterForm } = options
  const { url } = sending
  if ("fields" in sending) {
    const { fields } = sending
    return postResponse(cx, show, { redirectUri: url, fields, application, cookies })
  }
  if (afterForm === undefined) return redirect(url, ...cookies)
  return showContinue(show, cx, { href: url, application, cookies, why: afterForm })
}

/** An error response for the service provider. */
export function errorResponseOf(
  cx: Cx,
  target: ResponseTarget,
  status: Status,
  reason: string,
): OutgoingMessage {
  const statusMessage = `${reason} (request ${cx.requestId})`
  const { url: destination, requestId: inResponseTo } = target
  const node = buildMessage(
    cx,
    "samlp:Response",
    { destination, inResponseTo },
    buildStatus(status, statusMessage),
  )
  return responseMessageOf(target, node)
}

/** A response to be sent. */
export const responseMessageOf = (
  { url, binding, relayState }: ResponseTarget,
  node: XmlNode,
): OutgoingMessage => ({
  kind: "SAMLResponse",
  node,
  url,
  binding,
  relayState,
})
