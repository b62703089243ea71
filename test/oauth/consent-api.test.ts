// A remembered consent covers the APIs that the consent page named, and their scopes.
import { afterEach, beforeEach, expect, test } from "vitest"
import { createApplication } from "../../src/domain/app/commands.ts"
import { changeApplication, removeApplication } from "../../src/domain/app/index.ts"
import {
  answerOf,
  authorizePath,
  browserOf,
  openProvider,
  type Provider,
  redirectUri,
} from "./provider.ts"
import { letRegister, sendMetadata } from "./registering.ts"

const resource = "https://orders.example.com/"

let provider: Provider
let clientId: string
beforeEach(async () => {
  provider = await openProvider()
  await letRegister(provider, { consentLifetimeSeconds: 30 * 86_400 })
  const { answer } = await sendMetadata(provider, {
    client_name: "Desk",
    redirect_uris: [redirectUri],
    token_endpoint_auth_method: "none",
  })
  clientId = String(answer.client_id)
})
afterEach(() => provider.close())

const defining = (scopes: readonly string[]) => scopes.map((scope) => ({ scope }))
const addApi = async (
  name: string,
  scopes: readonly string[],
  resources: readonly string[] = [],
) => {
  const cx = provider.cx()
  const appId = cx.ids.next()
  const api = { authMethod: "basic", scopes: defining(scopes), resources } as const
  const { projectId } = provider
  await createApplication(cx, appId, { projectId, name, config: { kind: "api", api } })
  return appId
}
/** The consent page, on which the user allows it; empty where there is none. */
const allow = async (changes: Record<string, string>) => {
  const browser = browserOf(provider)
  const at = await browser.signIn(authorizePath(clientId, { scope: "openid read", ...changes }))
  if (!at.path.startsWith("/ui/login/consent")) {
    expect(answerOf(at)).toHaveProperty("code")
    return ""
  }
  expect(answerOf(await browser.post(at, { answer: "allow" }))).toHaveProperty("code")
  return at.page
}

test("a consent to a scope is none to another API that defines the same later", async () => {
  await addApi("Orders", ["read"])
  expect(await allow({})).toContain("Orders")
  expect(await allow({})).toBe("")
  await addApi("Payroll", ["read"])
  expect(await allow({ scope: "openid" })).toBe("")
  expect(await allow({})).toContain("Payroll")
  expect(await allow({})).toBe("")
})

test("a consent to two APIs is none to the scope of one that the other defines later", async () => {
  await addApi("Orders", ["read"])
  const payroll = await addApi("Payroll", ["write"])
  const scope = "openid read write"
  expect(await allow({ scope })).toContain("Payroll")
  expect(await allow({ scope })).toBe("")
  await changeApplication(provider.cx(), payroll, { api: { scopes: defining(["read", "write"]) } })
  expect(await allow({ scope })).toContain("Payroll")
})

test("a consent to a resource is none to the API that has its address later", async () => {
  const orders = await addApi("Orders", [], [resource])
  expect(await allow({ scope: "openid", resource })).toContain("Orders")
  expect(await allow({ scope: "openid", resource })).toBe("")
  await removeApplication(provider.cx(), orders)
  await addApi("Payroll", [], [resource])
  expect(await allow({ scope: "openid", resource })).not.toBe("")
})
