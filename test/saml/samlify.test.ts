// A third-party SAML identity provider: the messages that samlify creates, and how it parses ours.
import * as samlify from "samlify"
import { afterAll, beforeAll, expect, test } from "vitest"
import { findByLoginName } from "../../src/domain/user-lookup/find-name.ts"
import { type NewClient, type Provider, responseOf } from "../oauth/provider.ts"
import { idpEntity, parseRedirect, type SamlRequest } from "./identity-provider.ts"
import { createKey, openSamlProvider, type ProviderKey, pemOf } from "./service-provider.ts"
import { addSaml, chooseProvider, newBrowser, postResponse } from "./upstream.ts"

const persistent = "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent"
const origin = "https://idp.example.com/saml"
const redirect = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect"
const names = ["Email", "FirstName", "SurName", "UserName"] as const

let provider: Provider
let client: NewClient
let key: ProviderKey
let idpId: string
beforeAll(async () => {
  // It requires a schema validator, which is not tested here.
  samlify.setSchemaValidator({ validate: async () => "unchecked" })
  provider = await openSamlProvider()
  client = await provider.addClient()
  key = await createKey()
  idpId = await addSaml(provider, createPeer(key).getMetadata())
})
afterAll(() => provider.close())

const statement =
  '<saml:AuthnStatement AuthnInstant="{IssueInstant}" SessionIndex="_1"><saml:AuthnContext>' +
  "<saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:Password" +
  "</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>"

function createPeer({ certificate, privatePem }: ProviderKey, more: object = {}) {
  const { context } = samlify.SamlLib.defaultLoginResponseTemplate
  return samlify.IdentityProvider({
    entityID: idpEntity,
    privateKey: privatePem,
    signingCert: pemOf(certificate),
    wantAuthnRequestsSigned: true,
    nameIDFormat: [persistent],
    singleSignOnService: [{ Binding: redirect, Location: `${origin}/sso` }],
    singleLogoutService: [{ Binding: redirect, Location: `${origin}/slo` }],
    loginResponseTemplate: {
      // Its own statement has no authentication context.
      context: context.replace("{AuthnStatement}", statement),
      attributes: names.map((name) => ({
        name,
        valueTag: name,
        valueXsiType: "xs:string",
        nameFormat: "urn:oasis:names:tc:SAML:2.0:attrname-format:basic",
      })),
    },
    ...more,
  })
}

type Peer = ReturnType<typeof createPeer>

/** The peer's view of our public metadata. */
async function createOurMetadata(more: object = {}) {
  const answer = await provider.send(`/idps/${idpId}/saml/metadata`)
  return samlify.ServiceProvider({ metadata: await answer.text(), ...more })
}

/** Has the peer parse the request of a browser, and respond to it. */
async function respondAsPeer(peer: Peer, url: string, name: string, more: object = {}) {
  const ours = await createOurMetadata(more)
  const { searchParams, search } = new URL(url)
  const query = Object.fromEntries(searchParams)
  const octetString = search.slice(1).replace(/&Signature=.*$/, "")
  const { extract } = await peer.parseLoginRequest(ours, "redirect", { query, octetString })
  const asked = parseRedirect(url)
  expect(extract.request?.id).toBe(asked.id)
  const tagged = (template: string) => ({
    id: "_response",
    context: samlify.SamlLib.replaceTagsByValue(template, templateValues(asked, name)),
  })
  const made = await peer.createLoginResponse(ours, { extract }, "post", {}, tagged)
  return { asked, xml: Buffer.from(made.context, "base64").toString() }
}

/** The values of the peer's template. */
function templateValues(request: SamlRequest, name: string) {
  const time = (late: number) => new Date(provider.clock.now() + late).toISOString()
  return {
    ID: "_response",
    AssertionID: "_assertion",
    Issuer: idpEntity,
    IssueInstant: time(0),
    Destination: request.acs,
    AssertionConsumerServiceURL: request.acs,
    EntityID: request.issuer,
    SubjectRecipient: request.acs,
    Audience: request.issuer,
    InResponseTo: request.id,
    NameIDFormat: persistent,
    NameID: `${name}-id`,
    ConditionsNotBefore: time(-1000),
    ConditionsNotOnOrAfter: time(60_000),
    SubjectConfirmationDataNotOnOrAfter: time(60_000),
    StatusCode: "urn:oasis:names:tc:SAML:2.0:status:Success",
    attrEmail: `${name}@example.com`,
    attrUserName: name,
    attrFirstName: "Ada",
    attrSurName: "Lovelace",
  }
}

test.each<[string, RegExp, object, object]>([
  ["with a signed assertion", /^(?!.*<ds:Signature.*<ds:Signature )/s, {}, {}],
  [
    "with all of it signed, too",
    /<ds:Signature .*<ds:Signature /s,
    {},
    { wantMessageSigned: true },
  ],
  [
    "with an assertion encrypted for us",
    /<saml:EncryptedAssertion/,
    {
      isAssertionEncrypted: true,
      dataEncryptionAlgorithm: "http://www.w3.org/2009/xmlenc11#aes256-gcm",
      keyEncryptionAlgorithm: "http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p",
    },
    {},
  ],
])("signs users in %s", async (options, form, peer, ours) => {
  const name = options.replaceAll(/\W+/g, "-")
  const browser = newBrowser(provider)
  const url = await chooseProvider(browser, client.id)
  const made = await respondAsPeer(createPeer(key, peer), url, name, ours)
  expect(made.xml).toMatch(form)
  const end = await postResponse(provider, browser, made)
  expect(responseOf(end)).toHaveProperty("code")
  expect(findByLoginName(provider.cx(), name)).toBeDefined()
})

test("is accepted with its own key only, and only the signed content", async () => {
  const browser = newBrowser(provider)
  const url = await chooseProvider(browser, client.id)
  const { asked, xml } = await respondAsPeer(createPeer(await createKey()), url, "mallory")
  const stranger = await postResponse(provider, browser, { asked, xml })
  expect(stranger.page).toContain("Invalid response from the other service")
  const mine = newBrowser(provider)
  const own = await respondAsPeer(createPeer(key), await chooseProvider(mine, client.id), "ada")
  const changed = { ...own, xml: own.xml.replace(">ada-id<", ">eve-id<") }
  expect(changed.xml).not.toBe(own.xml)
  expect((await postResponse(provider, mine, changed)).page).toContain(
    "Invalid response from the other service",
  )
})
