// The access of an application is checked before a service provider receives a response for a user.
import { afterAll, beforeAll, expect, test } from "vitest"
import { findServiceProvider, updateApplication } from "../../src/domain/app/index.ts"
import { addAssignments, removeAssignments } from "../../src/domain/app-access/commands.ts"
import { browserOf, type Provider, password } from "../oauth/provider.ts"
import { createCustomLoginPage } from "../support/custom-login-page.ts"
import { addLoginPageCaller } from "../support/operation-caller.ts"
import { authnRequest, redirectPath } from "./requests.ts"
import {
  addServiceProvider,
  messageIn,
  nodeSaml,
  openSamlProvider,
  pathOf,
} from "./service-provider.ts"

const entityId = "https://limited.example.com"
const handedId = "https://handed.example.com"
const loginAt = "https://login.example.net/start"

let provider: Provider
let pat: string
beforeAll(async () => {
  provider = await openSamlProvider()
  await addServiceProvider(provider, { entityId })
  await addServiceProvider(provider, { entityId: handedId, loginAt })
  pat = await provider.addPerson("pat")
  for (const id of [entityId, handedId]) {
    await updateApplication(provider.cx(), await appIdOf(id), { access: { rule: "assigned" } })
  }
})
afterAll(() => provider.close())

const appIdOf = async (id: string) => (await findServiceProvider(provider.cx(), id))?.appId ?? ""
const subject = () => ({ userIds: [pat], groupIds: [] })
const assign = async (id: string) => addAssignments(provider.cx(), await appIdOf(id), subject())
const unassign = async (id: string) =>
  removeAssignments(provider.cx(), await appIdOf(id), subject())

test("an unassigned user gets a page with status 403, or RequestDenied if passive", async () => {
  const browser = browserOf(provider)
  const request = () => redirectPath(authnRequest({ entityId }))
  const passive = () => redirectPath(authnRequest({ entityId, attributes: { IsPassive: "true" } }))
  const refused = await browser.signIn(request(), "pat")
  expect(refused.response.status).toBe(403)
  expect(refused.page).not.toContain("SAMLResponse")
  expect(messageIn((await browser.go(passive())).page)).toContain("status:RequestDenied")
  const back = await browser.post(refused, { answer: "cancel" })
  expect(messageIn(back.page)).toContain("status:RequestDenied")
  await assign(entityId)
  expect(messageIn((await browser.go(request())).page)).toContain("status:Success")
  await unassign(entityId)
  expect((await browser.go(request())).response.status).toBe(403)
})

test("a custom login page can't complete the request for them", async () => {
  const call = await addLoginPageCaller(provider)
  const peer = await nodeSaml(provider, { issuer: handedId, audience: handedId })
  const { path } = await browserOf(provider).go(
    pathOf(await peer.getAuthorizeUrlAsync("s1", "", {})),
  )
  const samlRequestId = new URL(path).searchParams.get("samlRequest") ?? ""
  const value = await createCustomLoginPage(call).signIn("pat", password)
  const answer = { samlRequestId, responseKind: { case: "session", value } }
  const respond = () => call("saml.v2.SAMLService/CreateResponse", answer)
  await expect(respond()).rejects.toMatchObject({ id: "auth_request.barred" })
  await assign(handedId)
  expect((await respond()).url).toBe("https://sp.example.com/acs")
})
