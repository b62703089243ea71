// A remembered consent covers the APIs that the consent page showed, and their scopes.
import { afterEach, beforeEach, expect, test } from "vitest"
import { createApplication } from "../../src/domain/app/commands.ts"
import { removeApplication, updateApplication } from "../../src/domain/app/index.ts"
import {
  authorizePath,
  browserOf,
  openProvider,
  type Provider,
  redirectUri,
  responseOf,
} from "./provider.ts"
import { enableRegistration, sendMetadata } from "./registration.ts"

const resource = "https://orders.example.com/"

let provider: Provider
let clientId: string
beforeEach(async () => {
  provider = await openProvider()
  await enableRegistration(provider, { consentLifetimeSeconds: 30 * 86_400 })
  const { answer } = await sendMetadata(provider, {
    client_name: "Desk",
    redirect_uris: [redirectUri],
    token_endpoint_auth_method: "none",
  })
  clientId = String(answer.client_id)
})
afterEach(() => provider.close())

const scopeList = (scopes: readonly string[]) => scopes.map((scope) => ({ scope }))
const addApi = async (
  name: string,
  scopes: readonly string[],
  resources: readonly string[] = [],
) => {
  const cx = provider.cx()
  const appId = cx.ids.next()
  const api = { authMethod: "basic", scopes: scopeList(scopes), resources } as const
  const { projectId } = provider
  await createApplication(cx, appId, { projectId, name, config: { kind: "api", api } })
  return appId
}
/** The consent page, on which the user consents; empty if there is none. */
const allow = async (changes: Record<string, string>) => {
  const browser = browserOf(provider)
  const at = await browser.signIn(authorizePath(clientId, { scope: "openid read", ...changes }))
  if (!at.path.startsWith("/ui/login/consent")) {
    expect(responseOf(at)).toHaveProperty("code")
    return ""
  }
  expect(responseOf(await browser.post(at, { answer: "allow" }))).toHaveProperty("code")
  return at.page
}

test("a consent to a scope does not cover an API that defines the scope later", async () => {
  await addApi("Orders", ["read"])
  expect(await allow({})).toContain("Orders")
  expect(await allow({})).toBe("")
  await addApi("Payroll", ["read"])
  expect(await allow({ scope: "openid" })).toBe("")
  expect(await allow({})).toContain("Payroll")
  expect(await allow({})).toBe("")
})

test("a consent to two APIs does not cover a scope that the other defines later", async () => {
  await addApi("Orders", ["read"])
  const payroll = await addApi("Payroll", ["write"])
  const scope = "openid read write"
  expect(await allow({ scope })).toContain("Payroll")
  expect(await allow({ scope })).toBe("")
  await updateApplication(provider.cx(), payroll, { api: { scopes: scopeList(["read", "write"]) } })
  expect(await allow({ scope })).toContain("Payroll")
})

test("a consent to a resource does not cover the API that gets its URI later", async () => {
  const orders = await addApi("Orders", [], [resource])
  expect(await allow({ scope: "openid", resource })).toContain("Orders")
  expect(await allow({ scope: "openid", resource })).toBe("")
  await removeApplication(provider.cx(), orders)
  await addApi("Payroll", [], [resource])
  expect(await allow({ scope: "openid", resource })).not.toBe("")
})
