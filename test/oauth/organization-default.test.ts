import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { type OidcConfig, updateApplication } from "../../src/domain/app/index.ts"
import { instance } from "../../src/domain/instance/index.ts"
import { changeOrganization, type OrgOidcSettings } from "../../src/domain/org/index.ts"
import { lifetimesOf } from "../../src/oauth/token/lifetime.ts"
import {
  authorizePath,
  browserOf,
  codeFields,
  issuer,
  type NewClient,
  openProvider,
  type Provider,
  responseOf,
  sendTokenRequest,
} from "./provider.ts"

let provider: Provider
beforeEach(async () => {
  provider = await openProvider()
})
afterEach(() => provider.close())

const setDefaults = (oidc: OrgOidcSettings) =>
  changeOrganization(provider.cx(), provider.setup.orgId, { oidc })

/** The response to a request without PKCE: the sign-in page, or an error. */
async function withoutPkce(client: NewClient, changes: Readonly<Record<string, string>> = {}) {
  const none = { code_challenge: undefined, code_challenge_method: undefined }
  const end = await browserOf(provider).go(authorizePath(client.id, { ...none, ...changes }))
  if (!end.path.startsWith("https://app.")) return "sign-in"
  const { error, error_description: why } = responseOf(end)
  return `${error}: ${why?.replace(/ \(request .*/, "")}`
}

const pkceMissing = "invalid_request: code_challenge is required: this client must use PKCE"

type Pkce = OidcConfig["pkce"]
type AuthMethod = OidcConfig["authMethod"]

describe("PKCE of an application", () => {
  test.each<[AuthMethod, Pkce, boolean, string]>([
    ["basic", undefined, false, "sign-in"],
    ["basic", undefined, true, pkceMissing],
    ["basic", "inherited", true, pkceMissing],
    ["basic", "required", false, pkceMissing],
    ["post", "required", false, pkceMissing],
    ["private_key_jwt", "required", false, pkceMissing],
    ["basic", "optional", true, "sign-in"],
    ["none", "optional", false, pkceMissing],
  ])("%s, %s, organization requires it: %s", async (authMethod, pkce, pkceRequired, expected) => {
    if (pkceRequired) await setDefaults({ pkceRequired })
    const client = await provider.addClient({ authMethod, ...(pkce && { pkce }) })
    expect(await withoutPkce(client)).toBe(expected)
    const end = await browserOf(provider).go(authorizePath(client.id))
    expect(end.path).not.toContain("error=")
  })

  test("a pushed request without PKCE is rejected as well", async () => {
    const { id, secret } = await provider.addClient({ pkce: "required" })
    const all = { code_challenge: undefined, code_challenge_method: undefined }
    const body = new URLSearchParams(new URL(authorizePath(id, all), issuer).search)
    const headers = { authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString("base64")}` }
    const response = await provider.send("/oauth/v2/par", { method: "POST", body, headers })
    expect([response.status, (await response.json()).error]).toEqual([400, "invalid_request"])
  })

  test("a default applies immediately to existing applications", async () => {
    const client = await provider.addClient()
    expect(await withoutPkce(client)).toBe("sign-in")
    await setDefaults({ pkceRequired: true })
    expect(await withoutPkce(client)).toBe(pkceMissing)
    await setDefaults({})
    expect(await withoutPkce(client)).toBe("sign-in")
  })

  test("a request without a code in the response needs none", async () => {
    const client = await provider.addClient({
      pkce: "required",
      grantTypes: ["implicit"],
      responseTypes: ["id_token"],
    })
    expect(await withoutPkce(client, { response_type: "id_token" })).toBe("sign-in")
  })
})

const rules = {
  refreshTokenIdleExpiration: 60,
  refreshTokenExpiration: 600,
  refreshTokenGrace: 0,
} as const

async function refreshTokenOf(client: NewClient) {
  const path = authorizePath(client.id, { scope: "openid offline_access" })
  const { code = "" } = responseOf(await browserOf(provider).signIn(path))
  const { answer } = await sendTokenRequest(
    provider,
    codeFields(code),
    `${client.id}:${client.secret}`,
  )
  return String(answer.refresh_token)
}

const refresh = (client: NewClient, token: string) =>
  sendTokenRequest(
    provider,
    { grant_type: "refresh_token", refresh_token: token },
    `${client.id}:${client.secret}`,
  )

describe("refresh tokens of an organization's applications", () => {
  const grantTypes = ["authorization_code", "refresh_token"] as const

  test("follow its rules: no grace after a rotation, a shorter idle time", async () => {
    const client = await provider.addClient({ grantTypes })
    const usedTwice = async () => {
      const first = await refreshTokenOf(client)
      expect((await refresh(client, first)).status).toBe(200)
      return (await refresh(client, first)).status
    }
    expect(await usedTwice()).toBe(200)
    await setDefaults(rules)
    expect(await usedTwice()).toBe(400)
    const token = await refreshTokenOf(client)
    provider.clock.advance(61_000)
    expect((await refresh(client, token)).status).toBe(400)
  })

  test("what the application states takes precedence; the instance fills in the rest", async () => {
    const client = await provider.addClient({ grantTypes })
    const before = lifetimesOf(provider.cx(), client.id)
    await setDefaults(rules)
    expect(lifetimesOf(provider.cx(), client.id)).toEqual({
      ...before,
      refreshIdle: 60,
      refreshAbsolute: 600,
      refreshGrace: 0,
    })
    await updateApplication(provider.cx(), client.appId, {
      oidc: { tokens: { refreshTokenGrace: 30 } },
    })
    expect(lifetimesOf(provider.cx(), client.id)).toMatchObject({
      refreshIdle: 60,
      refreshGrace: 30,
    })
  })

  test("of the console follow the instance, whichever organization has its project", async () => {
    const cx = provider.cx()
    const { consoleClientId } = cx.store.state(cx, instance, "i1")
    const before = lifetimesOf(cx, consoleClientId)
    await setDefaults(rules)
    expect(lifetimesOf(cx, consoleClientId)).toEqual(before)
  })

  test("an idle time beyond the lifetime is rejected", async () => {
    await expect(setDefaults({ ...rules, refreshTokenExpiration: 10 })).rejects.toMatchObject({
      id: "instance.setting_invalid",
    })
  })
})
