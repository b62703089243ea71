// The explanations of rejected SAML requests for an application's administrators.

import { afterEach, beforeEach, expect, test } from "vitest"
import { createApplication } from "../../src/domain/app/commands.ts"
import { parseMetadata } from "../../src/domain/app/saml/metadata.ts"
import { searchRefusals } from "../../src/domain/refusal/refusal.ts"
import type { Scope } from "../../src/kernel/context.ts"
import { browserOf, hiddenFields, type Provider } from "../oauth/provider.ts"
import { authnRequest, redirectPath } from "./requests.ts"
import {
  acsUrl,
  addServiceProvider,
  createKey,
  messageIn,
  metadataOf,
  openSamlProvider,
  spId,
} from "./service-provider.ts"

let provider: Provider
let appId: string
beforeEach(async () => {
  provider = await openSamlProvider()
  appId = await addServiceProvider(provider)
})
afterEach(() => provider.close())

const page = { offset: 0, limit: 10, asc: true }
const allScope: Scope = { all: true, orgs: [], projects: [], grants: [] }
const noScope = { ...allScope, all: false }
const listRejections = (scope = allScope, of = appId) =>
  searchRefusals({ ...provider.cx(), scope }, { requestId: "", appId: of, page }).rows

const sendRequest = (attributes: Record<string, string | undefined>, entityId = spId) =>
  browserOf(provider).go(redirectPath(authnRequest({ attributes, entityId })))

test("a request without a response is shown to the application's administrators", async () => {
  await sendRequest({ AssertionConsumerServiceURL: "https://other.example.com/acs" })
  expect(listRejections()).toMatchObject([
    {
      endpoint: "/saml/v2/SSO",
      error: "saml.refused",
      clientId: spId,
      application: { id: appId, name: "Example SP" },
      description: expect.stringContaining("AssertionConsumerServiceURL"),
    },
  ])
  const projects = [provider.projectId]
  expect(listRejections({ ...noScope, projects })).toHaveLength(1)
  expect(listRejections(noScope)).toEqual([])
})

test("so is a request with an error response", async () => {
  await sendRequest({ ProtocolBinding: "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Artifact" })
  expect(listRejections()).toMatchObject([{ error: "unsupportedBinding" }])
})

test("user decisions and intermediate steps are not errors", async () => {
  await sendRequest({ IsPassive: "true" })
  expect(listRejections()).toEqual([])
})

test("a canceled sign-in returns RequestDenied, without an assertion", async () => {
  const browser = browserOf(provider)
  const at = await browser.go(redirectPath(authnRequest()))
  expect(at.page).toContain('action="/ui/login/cancel"')
  const body = new URLSearchParams(hiddenFields(at.page))
  const { page: answered } = await browser.go("/ui/login/cancel", { method: "POST", body })
  expect(answered).toContain(`action="${acsUrl}"`)
  expect(messageIn(answered)).toContain("status:RequestDenied")
  expect(messageIn(answered)).not.toContain("Assertion>")
  expect(listRejections()).toEqual([])
})

test("a request without an application is not stored", async () => {
  await sendRequest({}, "https://nobody.example.com")
  expect(listRejections(allScope, "")).toEqual([])
})

const weak = `MIIB${"A".repeat(40)}`

test("metadata with an unusable encryption key is rejected", async () => {
  const xml = metadataOf({ encryption: weak })
  await expect(parseMetadata(Buffer.from(xml), provider.clock.now())).rejects.toMatchObject({
    message: expect.stringContaining(
      "the encryption certificate in the metadata must have an RSA key",
    ),
  })
})

test("nothing is sent unencrypted if such metadata already exists", async () => {
  const { signing } = { signing: (await createKey()).certificate }
  const metadata = metadataOf({ signing, encryption: weak, entityId: "https://old.example.com" })
  const cx = provider.cx()
  const saml = { metadata, entityId: "https://old.example.com", metadataUrl: "" }
  await createApplication(cx, cx.ids.next(), {
    projectId: provider.projectId,
    name: "Old",
    config: { kind: "saml", saml: { ...saml, loginVersion: { version: "unspecified" } } },
  })
  await provider.addPerson("pat")
  const path = redirectPath(authnRequest({ entityId: "https://old.example.com" }))
  const { page: answered } = await browserOf(provider).signIn(path, "pat")
  expect(messageIn(answered)).toContain("status:RequestUnsupported")
  expect(messageIn(answered)).not.toContain("Assertion>")
})
