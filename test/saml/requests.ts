import { deflateRawSync } from "node:zlib"
import { issuer } from "../oauth/provider.ts"
import { spId } from "./service-provider.ts"

type RequestOptions = {
  readonly attributes?: Readonly<Record<string, string | undefined>>
  readonly content?: string
  readonly entityId?: string
  readonly at?: number
}

let requestCount = 0

/** A request as a service provider sends it; attributes that are undefined are omitted. */
export function authnRequest({
  attributes = {},
  content: inside = "",
  ...rest
}: RequestOptions = {}): string {
  const { entityId = spId, at = Date.now() } = rest
  const all = {
    ID: `_request${++requestCount}`,
    Version: "2.0",
    IssueInstant: new Date(at).toISOString(),
    Destination: `${issuer}/saml/v2/SSO`,
    ...attributes,
  }
  const written = Object.entries(all).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}="${value}"`],
  )
  return (
    '<samlp:AuthnRequest xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" ' +
    'xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ' +
    `${written.join(" ")}><saml:Issuer>${entityId}</saml:Issuer>${inside}</samlp:AuthnRequest>`
  )
}

/** The path of a message in the redirect binding. */
export const redirectPath = (xml: string, more: Readonly<Record<string, string>> = {}): string =>
  `/saml/v2/SSO?${new URLSearchParams({
    SAMLRequest: deflateRawSync(Buffer.from(xml)).toString("base64"),
    ...more,
  })}`

/** The form of a message in the POST binding. */
export const postForm = (xml: string): RequestInit => ({
  method: "POST",
  body: new URLSearchParams({ SAMLRequest: Buffer.from(xml).toString("base64") }),
})
