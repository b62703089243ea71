// Random messages of valid elements in the wrong places.
import { deflateRawSync } from "node:zlib"
import { afterAll, beforeAll, expect, test } from "vitest"
import { openProvider, type Provider } from "../oauth/provider.ts"
import { type Choose, chooser } from "../support/hostile.ts"
import { texts } from "../support/malformed-values.ts"
import { authnRequest } from "./requests.ts"
import { acsUrl, addServiceProvider, createKey, sloUrl, spId } from "./service-provider.ts"

const entityId = "https://plain.example.com"
let provider: Provider
beforeAll(async () => {
  provider = await openProvider()
  const { certificate } = await createKey()
  await addServiceProvider(provider, { signing: certificate })
  await addServiceProvider(provider, { entityId: entityId })
})
afterAll(() => provider.close())

const values: readonly string[] = [
  ...texts,
  "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST",
  "true",
  "2.0",
  "_a",
  acsUrl,
  "2026-13-45T00:00:00Z",
  "0000-00-00T00:00:00Z",
  "9999-12-31T23:59:59Z",
  "#_a",
  "1.1",
]
const attributes = [
  "ID",
  "Version",
  "IssueInstant",
  "Destination",
  "ForceAuthn",
  "IsPassive",
  "Format",
  "ProtocolBinding",
  "AssertionConsumerServiceURL",
  "AssertionConsumerServiceIndex",
  "NotOnOrAfter",
  "InResponseTo",
  "SPNameQualifier",
  "Comparison",
  "Algorithm",
  "URI",
  "toString",
  "__proto__",
  "xml:id",
  "xmlns:x",
  "xmlns",
]
const elements = [
  "saml:Issuer",
  "saml:Subject",
  "saml:NameID",
  "saml:AuthnContextClassRef",
  "samlp:NameIDPolicy",
  "samlp:RequestedAuthnContext",
  "samlp:SessionIndex",
  "samlp:Status",
  "samlp:StatusCode",
  "ds:Signature",
  "ds:SignedInfo",
  "ds:Reference",
  "ds:Transforms",
  "ds:Transform",
  "ds:CanonicalizationMethod",
  "ds:SignatureMethod",
  "ds:DigestMethod",
  "ds:DigestValue",
  "ds:SignatureValue",
  "ds:KeyInfo",
  "ds:Object",
]
const parameters = [
  "RelayState",
  "SigAlg",
  "Signature",
  "SAMLEncoding",
  "carried",
  "providerId",
  "target",
  "logout",
  "id",
  "SAMLRequest",
  "SAMLResponse",
]

const escapeText = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;")

function createElement(choose: Choose, depth = 0): string {
  const name = choose.of(elements)
  const attribute = choose.onceIn(2)
    ? ` ${choose.of(attributes)}="${escapeText(choose.of(values))}"`
    : ""
  const count = depth < 4 ? choose.of([0, 0, 1, 2, 3]) : 0
  const within = Array.from({ length: count }, () => createElement(choose, depth + 1)).join("")
  const text = choose.onceIn(3) ? escapeText(choose.of(values)) : ""
  const declared = 'xmlns:ds="http://www.w3.org/2000/09/xmldsig#"'
  return `<${name} ${declared}${attribute}>${text}${within}</${name}>`
}

const kinds = ["AuthnRequest", "AuthnRequest", "LogoutRequest", "LogoutResponse", "Response"]

function createMessage(choose: Choose, kind: string): string {
  const changed = Array.from({ length: choose.of([0, 0, 1, 2]) }, () => {
    const value = choose.onceIn(6) ? undefined : escapeText(choose.of(values))
    return [choose.of(attributes), value] as const
  })
  const message = authnRequest({
    entityId: choose.of([spId, entityId, entityId, escapeText(choose.of(values))]),
    attributes: { Destination: undefined, ...Object.fromEntries(changed) },
    content: Array.from({ length: choose.of([0, 0, 1, 2]) }, () => createElement(choose)).join(""),
    at: provider.clock.now(),
  })
  const named = message.replaceAll("AuthnRequest", kind)
  return choose.onceIn(8) ? named.slice(0, choose.of([1, 10, 50, 100, 200])) : named
}

async function sendMessage(choose: Choose): Promise<readonly [what: string, response: Response]> {
  const named = choose.of(kinds)
  const fitting = named === "AuthnRequest" ? "/saml/v2/SSO" : "/saml/v2/SLO"
  const path = choose.of([fitting, fitting, fitting, "/saml/v2/SSO/callback", "/saml/v2/SLO"])
  const xml = Buffer.from(createMessage(choose, named))
  const right = named.endsWith("Request") ? "SAMLRequest" : "SAMLResponse"
  const kind = choose.of([right, right, right, "SAMLRequest", "SAMLResponse"])
  const more = choose.onceIn(3) ? { [choose.of(parameters)]: choose.of(values).toWellFormed() } : {}
  const inForm = new URLSearchParams({ [kind]: xml.toString("base64"), ...more })
  const inAddress = new URLSearchParams({ [kind]: deflateRawSync(xml).toString("base64"), ...more })
  const response = choose.onceIn(2)
    ? await provider.send(path, { method: "POST", body: inForm })
    : await provider.send(`${path}?${inAddress}`)
  return [`${path} ${xml} ${JSON.stringify(more)}`, response]
}

/** Our own origin, or a URL of the metadata. */
const isAllowedRedirect = (location: string): boolean =>
  /^\/(?![/\\])/.test(location) || location.startsWith(sloUrl) || location.startsWith(acsUrl)

test("six hundred hostile messages cause no internal error or open redirect", async () => {
  const choose = chooser(20_261_123)
  const found: string[] = []
  let taken = 0
  for (let count = 0; count < 600; count++) {
    const [what, { status, headers }] = await sendMessage(choose)
    const location = headers.get("location")
    if (status >= 500) found.push(`${status}: ${what}`)
    if (location !== null && !isAllowedRedirect(location))
      found.push(`leads to ${location}: ${what}`)
    if (status < 400) taken++
  }
  expect(found).toEqual([])
  // Some must be accepted like valid ones.
  expect(taken).toBeGreaterThan(60)
})
