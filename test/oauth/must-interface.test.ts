import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { setInstanceFeatures } from "../../src/domain/feature/commands.ts"
import { createUser } from "../../src/domain/user/create.ts"
import { isUserActive } from "../../src/domain/user-lookup/index.ts"
import { authorize, type Browser, loadDiscovery, openSignedIn, type Row } from "./must.ts"
import {
  authorizePath,
  browserOf,
  issuer,
  type NewClient,
  openProvider,
  type Provider,
} from "./provider.ts"
import { addMachine } from "./service-account.ts"

let provider: Provider
let web: NewClient
let browser: Browser
beforeAll(async () => {
  provider = await openProvider()
  web = await provider.addClient()
  browser = await openSignedIn(provider, web)
})
afterAll(() => provider.close())

const rows: readonly Row[] = [
  [
    "§3 row 1 the login takes the default organisation's settings from then on",
    async () => {
      const apart = await openProvider()
      const { id } = await apart.addClient()
      const orgName = "Example"
      const page = async () => (await browserOf(apart).go(authorizePath(id))).page
      expect(await page()).not.toContain(`· ${orgName}</title>`)
      await setInstanceFeatures(apart.cx(), { login_default_org: true })
      expect(await page()).toContain(`· ${orgName}</title>`)
      await apart.close()
    },
  ],
  [
    "§3 row 6 a created user is active, whatever they are",
    async () => {
      const cx = provider.cx()
      const id = cx.ids.next()
      const { orgId } = provider.setup
      // Nothing is verified and there is no password: v2 has no initial state.
      await createUser(cx, id, {
        kind: "human",
        orgId,
        userName: "blank",
        profile: { givenName: "Blank", familyName: "Page" },
        email: { value: "blank@example.org", verified: false },
      })
      const { userId } = await addMachine(provider)
      expect([id, userId].map((each) => isUserActive(cx, each))).toEqual([true, true])
    },
  ],
  [
    "§4.3 discovery GET /.well-known/openid-configuration answers",
    async () => {
      const document = await loadDiscovery(provider)
      expect(document).toMatchObject({
        authorization_endpoint: `${issuer}/oauth/v2/authorize`,
        token_endpoint: `${issuer}/oauth/v2/token`,
        userinfo_endpoint: `${issuer}/oidc/v1/userinfo`,
        end_session_endpoint: `${issuer}/oidc/v1/endsession`,
        jwks_uri: `${issuer}/oauth/v2/keys`,
      })
    },
  ],
  [
    "§4.3 authorization_endpoint GET /oauth/v2/authorize leads to the login",
    async () => {
      const first = await provider.send(authorizePath(web.id))
      const [line = ""] = first.headers.getSetCookie()
      expect(first.headers.get("location")).toMatch(/^\/ui\/login\//)
      expect(line).toContain("Path=/")
      const headers = { cookie: line.split(";")[0] ?? "" }
      const page = await provider.send(first.headers.get("location") ?? "", { headers })
      expect([page.status, page.headers.getSetCookie()]).toEqual([200, []])
    },
  ],
  [
    "§4.3 jwks_uri /oauth/v2/keys shows keys, each with a kid",
    async () => {
      const { keys } = await (await provider.send("/oauth/v2/keys")).json()
      expect(keys.length).toBeGreaterThan(0)
      for (const key of keys) expect(key.kid).toMatch(/./)
    },
  ],
  [
    "§4.3 authorize login_hint fills in the name or chooses the account",
    async () => {
      const hinted = authorizePath(web.id, { login_hint: "pia@example.org" })
      expect((await browserOf(provider).go(hinted)).page).toContain('value="pia@example.org"')
      await provider.addPerson("pia")
      const both = await openSignedIn(provider, web)
      const asked = await both.go(authorizePath(web.id, { prompt: "select_account" }))
      const other = /href="(\/ui\/login\/loginname[^"]*)"/.exec(asked.page)?.[1] ?? ""
      await both.signIn(other, "pia")
      expect((await authorize(both, web, { prompt: "none" })).error).toBe(
        "account_selection_required",
      )
      const chosen = await authorize(both, web, { prompt: "none", login_hint: "pia" })
      expect(chosen).toHaveProperty("code")
    },
  ],
  [
    "§4.3 authorize state comes back unmodified",
    async () => {
      const state = "a=b&c d+é%20#/?"
      expect((await authorize(browser, web, { state })).state).toBe(state)
      expect(await authorize(browser, web, { state, prompt: "dance" })).toMatchObject({ state })
    },
  ],
  [
    "§5 (6) web, native and user agent applications register several addresses",
    async () => {
      const kinds = [
        { appType: "web", uris: ["https://a.example/1", "https://a.example/2"] },
        { appType: "user_agent", uris: ["https://b.example/1", "https://b.example/2"] },
        { appType: "native", uris: ["com.example.c:/1", "http://127.0.0.1/2"] },
      ] as const
      for (const { appType, uris } of kinds) {
        const config = { appType, authMethod: "none", redirectUris: uris } as const
        const client = await provider.addClient({ ...config, postLogoutRedirectUris: uris })
        for (const redirect_uri of uris) {
          const { path } = await browser.go(authorizePath(client.id, { redirect_uri }))
          expect(path.startsWith(redirect_uri), path).toBe(true)
        }
      }
    },
  ],
  [
    "§7 (2) unauthorized_client the client may not use the response type",
    async () => {
      const client = await provider.addClient({ responseTypes: ["id_token"] })
      expect((await authorize(browser, client)).error).toBe("unauthorized_client")
    },
  ],
]

describe("the public interface", () => {
  test.each(rows)("%s", (_, holds) => holds())
})
