import type { Cx } from "../../../store/index.ts"
import { toAddress, toFields } from "../../../xml/binding.ts"
import { bindingNames, nameIdFormats } from "../../../xml/names.ts"
import { timeText } from "../../../xml/read.ts"
import { signed } from "../../../xml/sign.ts"
import { element, type Written, write } from "../../../xml/write.ts"
import type { Found } from "../commands.ts"
import type { Asked, Kept } from "../intent/kept.ts"
import { upstreamError } from "../upstream/identity.ts"
import { providerNow, samlOf } from "./known.ts"
import { signerOf } from "./pair.ts"
import type { SamlProvider, SignOn } from "./provider.ts"
import { samlSelf } from "./self.ts"

/** The ID of the one request that an answer may be to (SAML Core §1.3.4). */
export const requestIdOf = ({ nonce }: Kept): string => `_${nonce}`

/**
 * The address that a browser is sent to: that of the provider with our request, or where it wants a
 * form, a page of ours that posts it.
 */
export async function signOnUrl(cx: Cx, found: Found, asked: Asked): Promise<string> {
  const provider = await providerNow(cx, found)
  const service = serviceOf(provider, found)
  if (service.binding === "post") {
    return `${samlSelf(cx, found.idp.id).start}?state=${encodeURIComponent(asked.state)}`
  }
  const xml = write(requestTo(cx, found, { asked, service }))
  const sent = { kind: "SAMLRequest", xml, relayState: asked.state } as const
  const signer = isSigned(found, provider) ? await signerOf(cx, found) : undefined
  return toAddress(service.url, sent, signer)
}

/** What a page of ours has the browser post (SAML Bindings §3.5.4). */
export type Posting = { readonly url: string; readonly fields: Readonly<Record<string, string>> }

/** The form that brings our request to a provider. */
export async function signOnForm(cx: Cx, found: Found, asked: Asked): Promise<Posting> {
  const provider = await providerNow(cx, found)
  const service = serviceOf(provider, found)
  const node = requestTo(cx, found, { asked, service })
  // SAML Core §3.2.1: the signature stands right behind the Issuer.
  const whole = isSigned(found, provider) ? await signed(node, 1, await signerOf(cx, found)) : node
  const sent = { kind: "SAMLRequest", xml: write(whole), relayState: asked.state } as const
  return { url: service.url, fields: toFields(sent) }
}

const isSigned = (found: Found, { wantsSigned }: SamlProvider): boolean =>
  samlOf(found).withSignedRequest || wantsSigned

function serviceOf({ signOn }: SamlProvider, found: Found): SignOn {
  const { binding } = samlOf(found)
  const service = signOn.find((each) => each.binding === binding) ?? signOn[0]
  if (service) return service
  throw upstreamError("answer_refused", "the metadata have no SingleSignOnService any more")
}

type Requesting = { readonly asked: Asked; readonly service: SignOn }

/** SAML Core §3.4.1. */
function requestTo(cx: Cx, found: Found, { asked, service }: Requesting): Written {
  const { entityId, acs } = samlSelf(cx, found.idp.id)
  const Format = nameIdFormats[samlOf(found).nameIdFormat]
  return element(
    "samlp:AuthnRequest",
    {
      ID: requestIdOf(asked.kept),
      Version: "2.0",
      IssueInstant: timeText(cx.clock.now()),
      Destination: service.url,
      AssertionConsumerServiceURL: acs,
      ProtocolBinding: bindingNames.post,
      ...(asked.kept.forceAuthn && { ForceAuthn: "true" }),
    },
    element("saml:Issuer", {}, entityId),
    element("samlp:NameIDPolicy", { AllowCreate: "true", Format }),
  )
}
