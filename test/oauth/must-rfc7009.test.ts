import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { deactivateApplication } from "../../src/domain/app/index.ts"
import { unlockUser } from "../../src/domain/user/commands.ts"
import { lockUser } from "../../src/domain/user/index.ts"
import { addKeyClient, asserted } from "./clients.ts"
import {
  type Browser,
  basic,
  metadata,
  post,
  type Row,
  signedIn,
  tokensOf,
  userinfo,
} from "./must.ts"
import {
  answerOf,
  askToken,
  authorizePath,
  browserOf,
  codeFields,
  issuer,
  type NewClient,
  openProvider,
  type Provider,
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
  browser = await signedIn(provider, web)
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
      expect((await metadata(provider)).revocation_endpoint).toBe(issuer + revoke)
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

/** What introspection says of a token to the client that it was issued to. */
const told = async (token: string, hint: Readonly<Record<string, string>> = {}) => {
  const as = basic(web.id, web.secret)
  return (await post(provider, introspect, form({ token, ...hint }), as)).json()
}

const introspecting: readonly Row[] = [
  [
    "§2.1 a wrong token_type_hint changes nothing",
    async () => {
      const token = await tokenOf(web)
      for (const token_type_hint of ["access_token", "refresh_token", "id_token", "🦊"]) {
        expect(await told(token, { token_type_hint })).toMatchObject({ active: true })
      }
    },
  ],
  [
    "§4 an answer is kept by nobody",
    async () => {
      for (const token of [await tokenOf(web), "nonsense"]) {
        const as = basic(web.id, web.secret)
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
      const as = basic(web.id, web.secret)
      const ask = async () => (await post(provider, introspect, form({ token: other }), as)).json()
      // The project's id stands in the audience, so that its other clients may ask, too.
      expect(await ask()).toMatchObject({ active: true })
      await deactivateApplication(provider.cx(), inProject.appId)
      expect(await ask()).toEqual({ active: false })

      const id = await provider.addPerson("ira")
      const ira = browserOf(provider)
      await ira.signIn(authorizePath(web.id), "ira")
      const locked = String((await tokensOf(provider, ira, web)).access_token)
      expect(await told(locked)).toMatchObject({ active: true, sub: id })
      await lockUser(provider.cx(), id)
      expect(await told(locked)).toEqual({ active: false })
      await unlockUser(provider.cx(), id)
      await ira.go("/oidc/v1/endsession").then((asked) => ira.post(asked, {}))
      expect(await told(locked)).toEqual({ active: false })
    },
  ],
]

describe("RFC 7009", () => {
  test.each(revoking)("%s", (_, holds) => holds())
})

describe("RFC 7662", () => {
  test.each(introspecting)("%s", (_, holds) => holds())
})

describe("the interface", () => {
  test("§4.3 revoke access and refresh tokens, by all four ways to authenticate", async () => {
    const grantTypes = ["authorization_code", "refresh_token"] as const
    const offline = { scope: "openid offline_access" }
    const keyed = await addKeyClient(provider)
    const lists = { grantTypes: [...grantTypes] }
    const posting = await provider.addClient({ ...lists, authMethod: "post" })
    const open = await provider.addClient({ ...lists, authMethod: "none" })
    const ways = [
      [posting, async () => ({ client_secret: posting.secret })],
      [open, async () => ({})],
      [keyed, () => asserted(provider, keyed)],
    ] as const
    for (const [client, proof] of ways) {
      const { code = "" } = answerOf(await browser.go(authorizePath(client.id, offline)))
      const fields = codeFields(code, { client_id: client.id, ...(await proof()) })
      const { answer } = await askToken(provider, fields)
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
    await post(provider, revoke, form({ token }), basic(web.id, web.secret))
    expect(await isGood(token)).toBe(false)
  })
})
