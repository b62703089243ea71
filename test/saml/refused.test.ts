// Why requests of SAML applications were refused, for who has set them up.

import { afterEach, beforeEach, expect, test } from "vitest"
import { createApplication } from "../../src/domain/app/commands.ts"
import { readMetadata } from "../../src/domain/app/saml/metadata.ts"
import { searchRefusals } from "../../src/domain/refusal/refusal.ts"
import type { Scope } from "../../src/kernel/context.ts"
import { browserOf, hiddenFields, type Provider } from "../oauth/provider.ts"
import { authnRequest, redirectPath } from "./asking.ts"
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
const everything: Scope = { all: true, orgs: [], projects: [], grants: [] }
const nothing = { ...everything, all: false }
const refusals = (scope = everything, of = appId) =>
  searchRefusals({ ...provider.cx(), scope }, { requestId: "", appId: of, page }).rows

const ask = (attributes: Record<string, string | undefined>, entityId = spId) =>
  browserOf(provider).go(redirectPath(authnRequest({ attributes, entityId })))

test("a request that nobody is answered is shown to who has set the application up", async () => {
  await ask({ AssertionConsumerServiceURL: "https://other.example.com/acs" })
  expect(refusals()).toMatchObject([
    {
      endpoint: "/saml/v2/SSO",
      error: "saml.refused",
      clientId: spId,
      application: { id: appId, name: "Example SP" },
      description: expect.stringContaining("AssertionConsumerServiceURL"),
    },
  ])
  const projects = [provider.projectId]
  expect(refusals({ ...nothing, projects })).toHaveLength(1)
  expect(refusals(nothing)).toEqual([])
})

test("so is one that is answered with why not", async () => {
  await ask({ ProtocolBinding: "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Artifact" })
  expect(refusals()).toMatchObject([{ error: "unsupportedBinding" }])
})

test("what a person decides, or a step on the way, is no mistake", async () => {
  await ask({ IsPassive: "true" })
  expect(refusals()).toEqual([])
})

test("whoever cancels the sign-in goes back with RequestDenied, and no assertion", async () => {
  const browser = browserOf(provider)
  const at = await browser.go(redirectPath(authnRequest()))
  expect(at.page).toContain('action="/ui/login/cancel"')
  const body = new URLSearchParams(hiddenFields(at.page))
  const { page: answered } = await browser.go("/ui/login/cancel", { method: "POST", body })
  expect(answered).toContain(`action="${acsUrl}"`)
  expect(messageIn(answered)).toContain("status:RequestDenied")
  expect(messageIn(answered)).not.toContain("Assertion>")
  expect(refusals()).toEqual([])
})

test("what names no application is kept nowhere", async () => {
  await ask({}, "https://nobody.example.com")
  expect(refusals(everything, "")).toEqual([])
})

const weak = `MIIB${"A".repeat(40)}`

test("metadata with a key for encryption that can't be used are refused", async () => {
  const xml = metadataOf({ encryption: weak })
  await expect(readMetadata(Buffer.from(xml), provider.clock.now())).rejects.toMatchObject({
    message: expect.stringContaining("certificate for encryption"),
  })
})

test("nothing is said in the clear where such metadata are there already", async () => {
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
