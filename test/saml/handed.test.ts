import { afterAll, beforeAll, expect, test } from "vitest"
import { browserOf, type Provider, password } from "../oauth/provider.ts"
import { customLogin } from "../support/custom-login.ts"
import { type Calling, openLoginPage } from "../support/login-page.ts"
import { addServiceProvider, nodeSaml, openSamlProvider, pathOf } from "./service-provider.ts"

const service = "saml.v2.SAMLService"
const entityId = "https://handed.example.com"
const loginAt = "https://login.example.net/start"
let provider: Provider
let call: Calling
beforeAll(async () => {
  provider = await openSamlProvider()
  call = await openLoginPage(provider)
  await addServiceProvider(provider, { entityId, loginAt })
  await provider.addPerson("pat")
})
afterAll(() => provider.close())

const peer = () => nodeSaml(provider, { issuer: entityId, audience: entityId })

/** Sends a browser to the page; answers the request that the page is handed. */
async function begun(): Promise<string> {
  const { path } = await browserOf(provider).go(
    pathOf(await (await peer()).getAuthorizeUrlAsync("s1", "", {})),
  )
  expect(path.startsWith(`${loginAt}/login?samlRequest=V2_`)).toBe(true)
  return new URL(path).searchParams.get("samlRequest") ?? ""
}

test("a login page of somebody else answers a service provider, once", async () => {
  const samlRequestId = await begun()
  const { samlRequest } = await call(`${service}/GetSAMLRequest`, { samlRequestId })
  expect(samlRequest).toMatchObject({ issuer: entityId, relayState: "s1" })
  const value = await customLogin(call).signIn("pat", password)
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

test("and with why nobody signs in", async () => {
  const samlRequestId = await begun()
  const value = { error: 5, errorDescription: "not today" }
  const answer = { samlRequestId, responseKind: { case: "error", value } }
  const { binding } = await call(`${service}/CreateResponse`, answer)
  const { samlResponse: SAMLResponse } = binding.value
  await expect((await peer()).validatePostResponseAsync({ SAMLResponse })).rejects.toThrow(
    /not today/,
  )
})
