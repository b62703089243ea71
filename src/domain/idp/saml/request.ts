import type { Cx } from "../../../store/index.ts"
import { createPostFields, createRedirect } from "../../../xml/binding.ts"
import { bindingNames, nameIdFormats } from "../../../xml/names.ts"
import { formatTime } from "../../../xml/read.ts"
import { signElement } from "../../../xml/sign.ts"
import { element, serialize, type XmlNode } from "../../../xml/write.ts"
import type { OwnedIdp } from "../commands.ts"
import type { FlowState, ProviderRequest } from "../intent/flow-state.ts"
import { upstreamError } from "../upstream/identity.ts"
import { signerOf } from "./key-pair.ts"
import type { SamlProvider, SignOnService } from "./provider.ts"
import { currentProvider, samlOf } from "./refresh.ts"
import { serviceProviderFor } from "./service-provider.ts"

/** The ID of the request that the response must refer to (SAML Core §1.3.4). */
export const requestIdOf = ({ nonce }: FlowState): string => `_${nonce}`

/**
 * The URL to send the browser to: that of the provider with the request, or a page of this server
 * that posts the request.
 */
export async function createSignOnUrl(
  cx: Cx,
  ownedIdp: OwnedIdp,
  providerRequest: ProviderRequest,
): Promise<string> {
  const provider = await currentProvider(cx, ownedIdp)
  const service = requireSignOnService(provider, ownedIdp)
  if (service.binding === "post") {
    const { start } = serviceProviderFor(cx, ownedIdp.idp.id)
    return `${start}?state=${encodeURIComponent(providerRequest.state)}`
  }
  const xml = serialize(createAuthnRequest(cx, ownedIdp, { asked: providerRequest, service }))
  const sent = { kind: "SAMLRequest", xml, relayState: providerRequest.state } as const
  const signer = isSigned(ownedIdp, provider) ? await signerOf(cx, ownedIdp) : undefined
  return createRedirect(service.url, sent, signer)
}

/** The form that the page posts (SAML Bindings §3.5.4). */
export type PostForm = { readonly url: string; readonly fields: Readonly<Record<string, string>> }

/** Creates the form that posts the request to a provider. */
export async function createSignOnForm(
  cx: Cx,
  ownedIdp: OwnedIdp,
  providerRequest: ProviderRequest,
): Promise<PostForm> {
  const provider = await currentProvider(cx, ownedIdp)
  const service = requireSignOnService(provider, ownedIdp)
  const node = createAuthnRequest(cx, ownedIdp, { asked: providerRequest, service })
  // SAML Core §3.2.1: the signature must follow the Issuer.
  const whole = isSigned(ownedIdp, provider)
    ? await signElement(node, 1, await signerOf(cx, ownedIdp))
    : node
  const sent = {
    kind: "SAMLRequest",
    xml: serialize(whole),
    relayState: providerRequest.state,
  } as const
  return { url: service.url, fields: createPostFields(sent) }
}

const isSigned = (ownedIdp: OwnedIdp, { wantsSigned }: SamlProvider): boolean =>
  samlOf(ownedIdp).withSignedRequest || wantsSigned

function requireSignOnService({ signOn }: SamlProvider, ownedIdp: OwnedIdp): SignOnService {
  const { binding } = samlOf(ownedIdp)
  const service = signOn.find((each) => each.binding === binding) ?? signOn[0]
  if (service) return service
  throw upstreamError("answer_refused", "the metadata no longer contain a SingleSignOnService")
}

type AuthnRequestOptions = { readonly asked: ProviderRequest; readonly service: SignOnService }

/** SAML Core §3.4.1. */
function createAuthnRequest(
  cx: Cx,
  ownedIdp: OwnedIdp,
  { asked: providerRequest, service }: AuthnRequestOptions,
): XmlNode {
  const { entityId, acs } = serviceProviderFor(cx, ownedIdp.idp.id)
  const Format = nameIdFormats[samlOf(ownedIdp).nameIdFormat]
  return element(
    "samlp:AuthnRequest",
    {
      ID: requestIdOf(providerRequest.flow),
      Version: "2.0",
      IssueInstant: formatTime(cx.clock.now()),
      Destination: service.url,
      AssertionConsumerServiceURL: acs,
      ProtocolBinding: bindingNames.post,
      ...(providerRequest.flow.forceAuthn && { ForceAuthn: "true" }),
    },
    element("saml:Issuer", {}, entityId),
    element("samlp:NameIDPolicy", { AllowCreate: "true", Format }),
  )
}
