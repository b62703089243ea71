// Attributes that scripts add to assertions for SAML applications.
import { afterAll, beforeAll, expect, test } from "vitest"
import { listMetadata } from "../../../src/domain/user/index.ts"
import { browserOf, type Provider } from "../../oauth/provider.ts"
import {
  addServiceProvider,
  nodeSaml,
  openSamlProvider,
  pathOf,
  postedFields,
} from "../../saml/service-provider.ts"
import { bindScripts, testAllUsed } from "./bound.ts"

let provider: Provider
let pat: string
beforeAll(async () => {
  provider = await openSamlProvider()
  await addServiceProvider(provider)
  pat = await provider.addPerson("pat")
})
afterAll(() => provider.close())

const bindScript = (body: string) =>
  bindScripts(provider, {
    flowType: 4,
    triggerType: 6,
    scripts: [`function f0({ v1 }, api) { ${body} }`],
  })

test("a script adds attributes and can't replace built-in ones", async () => {
  const format = "urn:oasis:names:tc:SAML:2.0:attrname-format:uri"
  const unbind = await bindScript(`
    api.v1.attributes.setCustomAttribute("team", "${format}", "red", "<blue>")
    api.v1.attributes.setCustomAttribute("first", "", v1.getUser().human.firstName)
    api.v1.attributes.setCustomAttribute("UserID", "", "somebody")
    api.v1.user.setMetadata("saml", v1.user.grants.count)
    api.v1.attributes.setCustomAttribute("noted", "", String(v1.user.getMetadata().count))`)
  const sp = await nodeSaml(provider)
  const at = await browserOf(provider).signIn(
    pathOf(await sp.getAuthorizeUrlAsync("", "", {})),
    "pat",
  )
  const { profile } = await sp.validatePostResponseAsync(postedFields(at.page))
  expect(profile).toMatchObject({ team: ["red", "<blue>"], first: "Pat", UserID: pat, noted: "0" })
  expect(`${Buffer.from(listMetadata(provider.cx(), pat).get("saml") ?? "")}`).toBe("0")
  await unbind()
})

test("a script can't add an email address", async () => {
  const names = [
    "email",
    "E-Mail",
    "mail",
    "email_address",
    "user.email",
    "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress",
    "urn:oid:0.9.2342.19200300.100.1.3",
    "URN:OID:1.2.840.113549.1.9.1",
  ]
  const allowed = ["email_list", "voicemail"]
  const set = (name: string) =>
    `api.v1.attributes.setCustomAttribute(${JSON.stringify(name)}, "", "ceo@corp.test")`
  const unbind = await bindScript([...names, ...allowed].map(set).join("\n"))
  const sp = await nodeSaml(provider)
  const at = await browserOf(provider).signIn(
    pathOf(await sp.getAuthorizeUrlAsync("", "", {})),
    "pat",
  )
  const { SAMLResponse = "" } = postedFields(at.page)
  const xml = Buffer.from(SAMLResponse, "base64").toString()
  for (const name of names) expect(xml).not.toContain(`Name="${name}"`)
  for (const name of allowed) expect(xml).toContain(`Name="${name}"`)
  expect(xml.split("ceo@corp.test")).toHaveLength(1 + allowed.length)
  await unbind()
})

test("the application receives the rejection by a script", async () => {
  const unbind = await bindScript(`throw new Error("not for SAML")`)
  const sp = await nodeSaml(provider)
  const at = await browserOf(provider).signIn(
    pathOf(await sp.getAuthorizeUrlAsync("", "", {})),
    "pat",
  )
  const { SAMLResponse = "" } = postedFields(at.page)
  const xml = Buffer.from(SAMLResponse, "base64").toString()
  expect(xml).toContain("status:RequestDenied")
  expect(xml).toContain("not for SAML")
  expect(xml).not.toContain("Assertion")
  await unbind()
})

testAllUsed(4)
