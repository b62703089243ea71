import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { listScopes, standardScopes } from "../../src/domain/app/index.ts"
import { requestedData } from "../../src/login/appearance/requested-data.ts"
import { userClaimNames } from "../../src/oauth/token/claims/claims.ts"
import { prefixes, reserved } from "../../src/oauth/token/scope.ts"
import { grantables } from "../../ui/login/flow.tsx"
import { authorizePath, browserOf, openProvider, type Provider } from "../oauth/provider.ts"

const learnedWith = (scope: string) =>
  requestedData({ scopes: [scope] }).filter((one) => one !== "identity" || scope === "openid")

describe("the data that an application requests", () => {
  test("is listed for each scope that adds a claim", () => {
    const plain = [...standardScopes, ...listScopes, ...Object.values(reserved)]
    for (const scope of plain)
      expect([scope, learnedWith(scope)]).toEqual([scope, [expect.any(String)]])
    // These limit roles to an organization, or select the provider; they add no claims.
    const { rolesOfOrg, idp, ...telling } = prefixes
    for (const prefix of Object.values(telling)) {
      expect([prefix, learnedWith(`${prefix}x`)]).toEqual([prefix, [expect.any(String)]])
    }
    for (const prefix of [rolesOfOrg, idp]) expect(learnedWith(`${prefix}x`)).toEqual([])
  })

  test("is listed for each claim that can be requested without a scope", () => {
    for (const name of [...userClaimNames, ...listScopes]) {
      const named = { idToken: [], userinfo: [] }
      const known = ["identity", expect.any(String)]
      expect(requestedData({ scopes: [], claims: { ...named, idToken: [name] } })).toEqual(known)
      expect(requestedData({ scopes: [], claims: { ...named, userinfo: [name] } })).toEqual(known)
    }
  })

  test("is listed once", () => {
    const claims = { idToken: ["email"], userinfo: ["email", "email_verified", "roles"] }
    const learned = requestedData({ scopes: ["openid", "email", "groups"], claims })
    expect(learned).toEqual(["identity", "email", "roles"])
    expect(grantables).toEqual(expect.arrayContaining([...learned]))
  })
})

describe("the consent page", () => {
  let provider: Provider
  beforeAll(async () => {
    provider = await openProvider()
  })
  afterAll(() => provider.close())

  test.each([
    [
      "en",
      "will receive: your user ID, your email address, your phone number, your roles and " +
        "groups, your organization, and the metadata of your account.",
    ],
    [
      "de",
      "erfährt: welches Konto deines ist, deine E-Mail-Adresse, deine Telefonnummer, deine " +
        "Rollen und Gruppen, deine Organisation und die Metadaten deines Kontos.",
    ],
  ])("lists requests by reserved scopes and single claims: %s", async (language, values) => {
    const client = await provider.addClient()
    const claims = { id_token: { phone_number: null }, userinfo: { email: null, roles: null } }
    const asked = await browserOf(provider).signIn(
      authorizePath(client.id, {
        scope: `openid ${reserved.metadata} ${reserved.resourceOwner}`,
        claims: JSON.stringify(claims),
        ui_locales: language,
        prompt: "consent",
      }),
    )
    expect(asked.path).toMatch(/^\/ui\/login\/consent/)
    expect(asked.page.replace(/<!-- -->/g, "")).toContain(values)
  })
})
