import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { deactivateApplication } from "../../src/domain/app/index.ts"
import { unlockUser } from "../../src/domain/user/commands.ts"
import { lockUser } from "../../src/domain/user/index.ts"
import { addKeyClient, signAssertion } from "./clients.ts"
import {
  type Browser,
  basicHeader,
  loadDiscovery,
  openSignedIn,
  post,
  type Row,
  tokensOf,
  userinfo,
} from "./must.ts"
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

const [revoke, introspect] = ["/oauth/v2/revoke", "/oauth/v2/introspect"]

let provider: Provider
let web: NewClient
let spa: NewClient
let browser: Browser
beforeAll(async () => {
  provider = await openProvider()
  web = await provider.addClient()
  spa = await provider.addClient({ appType: "user_agent", authMethod: "none" })
  browser = await openSignedIn(provider, web)
})
afterAll(() => provider.close())

const tokenOf = async (client: NewClient) =>
  String((await tokensOf(provider, browser, client)).access_token)

const isGood = async (token: string) => (await userinfo(provider, token)).status === 200

const form = (fields: Readonly<Record<string, string>>) => new URLSearchParams(fields).toString()

const revoking: readonly Row[] = [
  [
    "§2 the endpoint takes POST only and is named in discovery",
    async () => {
      expect((await loadDiscovery(provider)).revocation_endpoint).toBe(issuer + revoke)
      for (const method of ["GET", "PUT", "DELETE"]) {
        const { status } = await provider.send(revoke, { method })
        expect(status, method).toBe(405)
      }
    },
  ],
  [
    "§2.1 a public client names itself and revokes only its own tokens",
    async () => {
      const [own, other] = [await tokenOf(spa), await tokenOf(web)]
      await post(provider, revoke, form({ token: own }))
      expect(await isGood(own)).toBe(true)
      await post(provider, revoke, form({ token: other, client_id: spa.id }))
      expect(await isGood(other)).toBe(true)
      const { status } = await post(provider, revoke, form({ token: own, client_id: spa.id }))
      expect([status, await isGood(own)]).toEqual([200, false])
    },
  ],
]

/** The introspection response for a token to the client that it was issued to. */
const introspectToken = async (token: string, hint: Readonly<Record<string, string>> = {}) => {
  const as = basicHeader(web.id, web.secret)
  return (await post(provider, introspect, form({ token, ...hint }), as)).json()
}

const introspecting: readonly Row[] = [
  [
    "§2.1 a wrong token_type_hint changes nothing",
    async () => {
      const token = await tokenOf(web)
      for (const token_type_hint of ["access_token", "refresh_token", "id_token", "🦊"]) {
        expect(await introspectToken(token, { token_type_hint })).toMatchObject({ active: true })
      }
    },
  ],
  [
    "§4 an answer is kept by nobody",
    async () => {
      for (const token of [await tokenOf(web), "nonsense"]) {
        const as = basicHeader(web.id, web.secret)
        const { headers } = await post(provider, introspect, form({ token }), as)
        expect(headers.get("cache-control")).toBe("no-store")
        expect(headers.get("content-type")).toMatch(/^application\/json\b/)
      }
    },
  ],
  [
    "§4 a token whose user, session or application has ended is not active",
    async () => {
      const inProject = await provider.addClient()
      const other = await tokenOf(inProject)
      const as = basicHeader(web.id, web.secret)
      const ask = async () => (await post(provider, introspect, form({ token: other }), as)).json()
      // The project's ID is in the audience, so its other clients can introspect as well.
      expect(await ask()).toMatchObject({ active: true })
      await deactivateApplication(provider.cx(), inProject.appId)
      expect(await ask()).toEqual({ active: false })

      const id = await provider.addPerson("ira")
      const ira = browserOf(provider)
      await ira.signIn(authorizePath(web.id), "ira")
      const locked = String((await tokensOf(provider, ira, web)).access_token)
      expect(await introspectToken(locked)).toMatchObject({ active: true, sub: id })
      await lockUser(provider.cx(), id)
      expect(await introspectToken(locked)).toEqual({ active: false })
      await unlockUser(provider.cx(), id)
      await ira.go("/oidc/v1/endsession").then((request) => ira.post(request, {}))
      expect(await introspectToken(locked)).toEqual({ active: false })
    },
  ],
]

describe("RFC 7009", () => {
  test.each(revoking)("%s", (_, holds) => holds())
})

describe("RFC 7662", () => {
  test.each(introspecting)("%s", (_, holds) => holds())
})

describe("the public interface", () => {
  test("§4.3 revoke access and refresh tokens, with all four authentication methods", async () => {
    const grantTypes = ["authorization_code", "refresh_token"] as const
    const offline = { scope: "openid offline_access" }
    const keyed = await addKeyClient(provider)
    const lists = { grantTypes: [...grantTypes] }
    const posting = await provider.addClient({ ...lists, authMethod: "post" })
    const open = await provider.addClient({ ...lists, authMethod: "none" })
    const ways = [
      [posting, async () => ({ client_secret: posting.secret })],
      [open, async () => ({})],
      [keyed, () => signAssertion(provider, keyed)],
    ] as const
    for (const [client, proof] of ways) {
      const { code = "" } = responseOf(await browser.go(authorizePath(client.id, offline)))
      const fields = codeFields(code, { client_id: client.id, ...(await proof()) })
      const { answer } = await sendTokenRequest(provider, fields)
      const [access, refresh] = [String(answer.access_token), answer.refresh_token]
      expect([await isGood(access), typeof refresh]).toEqual([
        true,
        client === keyed ? "undefined" : "string",
      ])
      const token = String(refresh ?? access)
      const body = form({ token, client_id: client.id, ...(await proof()) })
      expect((await post(provider, revoke, body)).status).toBe(200)
      expect(await isGood(access)).toBe(false)
    }
    const token = await tokenOf(web)
    await post(provider, revoke, form({ token }), basicHeader(web.id, web.secret))
    expect(await isGood(token)).toBe(false)
  })
})
