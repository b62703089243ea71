import { afterAll, beforeAll, expect, test } from "vitest"
import { browserOf, type Provider, password } from "../oauth/provider.ts"
import { createCustomLoginPage } from "../support/custom-login-page.ts"
import { addLoginPageCaller, type CallAs } from "../support/operation-caller.ts"
import { addServiceProvider, nodeSaml, openSamlProvider, pathOf } from "./service-provider.ts"

const service = "saml.v2.SAMLService"
const entityId = "https://handed.example.com"
const loginUrl = "https://login.example.net/start"
let provider: Provider
let call: CallAs
beforeAll(async () => {
  provider = await openSamlProvider()
  call = await addLoginPageCaller(provider)
  await addServiceProvider(provider, { entityId, loginAt: loginUrl })
  await provider.addPerson("pat")
})
afterAll(() => provider.close())

const peer = () => nodeSaml(provider, { issuer: entityId, audience: entityId })

/** Sends a browser to the page; returns the request that the page receives. */
async function startRequest(): Promise<string> {
  const { path } = await browserOf(provider).go(
    pathOf(await (await peer()).getAuthorizeUrlAsync("s1", "", {})),
  )
  expect(path.startsWith(`${loginUrl}/login?samlRequest=V2_`)).toBe(true)
  return new URL(path).searchParams.get("samlRequest") ?? ""
}

test("a custom login page completes a SAML request, once", async () => {
  const samlRequestId = await startRequest()
  const { samlRequest } = await call(`${service}/GetSAMLRequest`, { samlRequestId })
  expect(samlRequest).toMatchObject({ issuer: entityId, relayState: "s1" })
  const value = await createCustomLoginPage(call).signIn("pat", password)
  const answer = { samlRequestId, responseKind: { case: "session", value } }
  const { url, binding } = await call(`${service}/CreateResponse`, answer)
  expect(url).toBe("https://sp.example.com/acs")
  const { relayState: RelayState, samlResponse: SAMLResponse } = binding.value
  const { profile } = await (await peer()).validatePostResponseAsync({ SAMLResponse, RelayState })
  expect(profile?.UserName).toBe("pat")
  await expect(call(`${service}/CreateResponse`, answer)).rejects.toMatchObject({
    id: "auth_request.missing",
  })
})

test("or fails it with an error", async () => {
  const samlRequestId = await startRequest()
  const value = { error: 5, errorDescription: "not today" }
  const answer = { samlRequestId, responseKind: { case: "error", value } }
  const { binding } = await call(`${service}/CreateResponse`, answer)
  const { samlResponse: SAMLResponse } = binding.value
  await expect((await peer()).validatePostResponseAsync({ SAMLResponse })).rejects.toThrow(
    /not today/,
  )
})
