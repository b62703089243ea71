import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import * as app from "../../src/domain/app/index.ts"
import type { TokenType } from "../../src/domain/app/model.ts"
import { createPassword, setPassword } from "../../src/domain/credential/index.ts"
import { activateOrganization, createOrganization } from "../../src/domain/org/commands.ts"
import * as org from "../../src/domain/org/index.ts"
import * as project from "../../src/domain/project/index.ts"
import {
  generateMachineSecret,
  removeMachineSecret,
} from "../../src/domain/service-account/machine-secret.ts"
import {
  createPersonalToken,
  removePersonalToken,
} from "../../src/domain/service-account/personal-token.ts"
import { removeServiceKey } from "../../src/domain/service-account/service-key.ts"
import { reactivateUser, unlockUser } from "../../src/domain/user/commands.ts"
import { deactivateUser, lockUser, removeUser } from "../../src/domain/user/index.ts"
import { addServiceAccount, encodeBasic, signAssertion } from "./clients.ts"
import {
  authorizePath,
  browserOf,
  codeFields,
  type NewClient,
  openProvider,
  type Provider,
  responseOf,
  sendTokenRequest,
} from "./provider.ts"

let provider: Provider
beforeAll(async () => {
  provider = await openProvider()
})
afterAll(() => provider.close())

/** A user of a separate organization, signed in to an application of its own project. */
type TokenFixture = {
  readonly name: string
  readonly orgId: string
  readonly userId: string
  readonly projectId: string
  readonly client: NewClient
  readonly browser: ReturnType<typeof browserOf>
  readonly token: string
  readonly idToken: string
}
let fixture: TokenFixture
let count = 0

const createFixture = async (tokenType: TokenType): Promise<TokenFixture> => {
  const cx = provider.cx()
  const name = `person${count++}`
  const orgId = cx.ids.next()
  await createOrganization(cx, orgId, { name: `Org of ${name}` })
  const projectId = cx.ids.next()
  await project.createProject(cx, projectId, { orgId, name })
  const userId = await provider.addPerson(name, orgId)
  const client = await provider.addClient({ tokenType }, projectId)
  const browser = browserOf(provider)
  const { code = "" } = responseOf(await browser.signIn(authorizePath(client.id), name))
  const as = `${client.id}:${client.secret}`
  const { answer } = await sendTokenRequest(provider, codeFields(code), as)
  const [token, idToken] = [String(answer.access_token), String(answer.id_token)]
  return { name, orgId, userId, projectId, client, browser, token, idToken }
}

const statusOf = async (token: string) => {
  const headers = { authorization: `Bearer ${token}` }
  return (await provider.send("/oidc/v1/userinfo", { headers })).status
}

describe.each(["bearer", "jwt"] as const)("an access token (%s)", (tokenType) => {
  beforeEach(async () => {
    fixture = await createFixture(tokenType)
    expect(await statusOf(fixture.token)).toBe(200)
  })

  type End = (cx: ReturnType<Provider["cx"]>) => Promise<unknown>
  const ends: Readonly<Record<string, End>> = {
    "its user is deactivated": (cx) => deactivateUser(cx, fixture.userId),
    "its user is locked": (cx) => lockUser(cx, fixture.userId),
    "its user is removed": (cx) => removeUser(cx, fixture.userId),
    "the organisation is deactivated": (cx) => org.deactivateOrganization(cx, fixture.orgId),
    "the organisation is removed": (cx) => org.removeOrganization(cx, fixture.orgId),
    "the project is deactivated": (cx) => project.deactivateProject(cx, fixture.projectId),
    "the application is deactivated": (cx) => app.deactivateApplication(cx, fixture.client.appId),
    "the application is removed": (cx) => app.removeApplication(cx, fixture.client.appId),
    "the password is changed": async (cx) => {
      const fresh = await createPassword("Another-Horse-8", { names: [] })
      return setPassword(cx, fixture.userId, fresh)
    },
    "the person signs out": () =>
      fixture.browser.go(`/oidc/v1/endsession?id_token_hint=${fixture.idToken}`),
    "the session is too old": async () => provider.clock.advance(10 * 86_400_000),
    "it expires": async () => provider.clock.advance(12 * 3_600_000),
  }
  test.each(Object.entries(ends))("is invalid once %s", async (_, end) => {
    await end(provider.cx())
    expect(await statusOf(fixture.token)).toBe(401)
  })

  test("stays invalid when the user returns with a new password", async () => {
    const next = "Another-Horse-8"
    const fresh = await createPassword(next, { names: [] })
    await setPassword(provider.cx(), fixture.userId, fresh)
    const end = await fixture.browser.signIn(authorizePath(fixture.client.id), fixture.name, next)
    expect(responseOf(end).code).toBeDefined()
    expect(await statusOf(fixture.token)).toBe(401)
  })

  test.each([
    ["user was locked", "userId", lockUser, unlockUser],
    ["user was deactivated", "userId", deactivateUser, reactivateUser],
    ["organisation was deactivated", "orgId", org.deactivateOrganization, activateOrganization],
  ] as const)(
    "stays invalid when its %s and is reactivated",
    async (_, description, stop, start) => {
      await stop(provider.cx(), fixture[description])
      await start(provider.cx(), fixture[description])
      expect(await statusOf(fixture.token)).toBe(401)
      // The browser has no session either: the user must sign in.
      const silent = await fixture.browser.go(authorizePath(fixture.client.id, { prompt: "none" }))
      expect(responseOf(silent).error).toBe("login_required")
      const again = await fixture.browser.signIn(authorizePath(fixture.client.id), fixture.name)
      expect(responseOf(again).code).toBeDefined()
      expect(await statusOf(fixture.token)).toBe(401)
    },
  )

  test("is rejected in any other spelling", async () => {
    const { token } = fixture
    const half = Math.floor(token.length / 2)
    const flipped = (at: number) => {
      const letter = token[at] ?? ""
      const other = letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase()
      return token.slice(0, at) + (other === letter ? "_" : other) + token.slice(at + 1)
    }
    const spellings = [
      token.slice(0, -1),
      token.slice(0, half),
      token.slice(1),
      `${token}A`,
      `${token}=`,
      `${token}.`,
      `.${token}`,
      flipped(half),
      flipped(token.length - 1),
      flipped(3),
      token.replace(/\..*\./, ".."),
    ]
    for (const spelling of spellings.filter((each) => each !== token)) {
      expect(await statusOf(spelling), spelling).toBe(401)
    }
  })
})

describe("a token of a service account depends on its credential:", () => {
  const day = 86_400_000
  type Robot = Awaited<ReturnType<typeof addServiceAccount>> & { readonly tokenId: string }
  type Came = { readonly robot: Robot; readonly token: string }
  const grant_type = "client_credentials"
  const robotWith = async (): Promise<Robot & { readonly personal: string }> => {
    const robot = await addServiceAccount(provider, "jwt")
    const end = provider.clock.now() + day / 4
    const made = await createPersonalToken(provider.cx(), robot.userId, end)
    return { ...robot, tokenId: made.id, personal: made.token }
  }
  const ways: Readonly<Record<string, () => Promise<Came>>> = {
    "secret/ID": async () => {
      const robot = await robotWith()
      const basic = encodeBasic(robot.id, robot.secret)
      const { answer } = await sendTokenRequest(provider, { grant_type, scope: "openid" }, basic)
      return { robot, token: String(answer.access_token) }
    },
    "key/ID": async () => {
      const robot = await robotWith()
      const fields = await signAssertion(provider, robot)
      const { answer } = await sendTokenRequest(provider, {
        grant_type,
        scope: "openid",
        ...fields,
      })
      return { robot, token: String(answer.access_token) }
    },
    "pat/ID": async () => {
      const { personal, ...robot } = await robotWith()
      return { robot, token: personal }
    },
  }
  type End = (robot: Robot) => unknown
  const ends: Readonly<Record<string, readonly [End, readonly string[]]>> = {
    "the secret is removed": [
      ({ userId }) => removeMachineSecret(provider.cx(), userId),
      ["secret/ID"],
    ],
    "the secret is replaced": [
      ({ userId }) => generateMachineSecret(provider.cx(), userId),
      ["secret/ID"],
    ],
    "the key is removed": [
      ({ userId, keyId }) => removeServiceKey(provider.cx(), userId, keyId),
      ["key/ID"],
    ],
    "the personal access token is removed": [
      ({ userId, tokenId }) => removePersonalToken(provider.cx(), userId, tokenId),
      ["pat/ID"],
    ],
    "the personal access token expires": [() => provider.clock.advance(day / 4), ["pat/ID"]],
    "half a day is over": [() => provider.clock.advance(day / 2), Object.keys(ways)],
    "the service user is locked": [
      ({ userId }) => lockUser(provider.cx(), userId),
      Object.keys(ways),
    ],
    "the service user was locked and is back": [
      async ({ userId }) => {
        await lockUser(provider.cx(), userId)
        await unlockUser(provider.cx(), userId)
      },
      ["secret/ID", "key/ID"],
    ],
    "the service user was deactivated and is back": [
      async ({ userId }) => {
        await deactivateUser(provider.cx(), userId)
        await reactivateUser(provider.cx(), userId)
      },
      ["secret/ID", "key/ID"],
    ],
    "another user's credentials go": [
      async () => {
        const other = await robotWith()
        await removeUser(provider.cx(), other.userId)
      },
      [],
    ],
  }
  const rows = Object.entries(ends).flatMap(([end, [act, over]]) =>
    Object.entries(ways).map(([anchor, come]) => ({
      anchor,
      end,
      act,
      come,
      status: over.includes(anchor) ? 401 : 200,
    })),
  )
  test.each(rows)("$anchor returns $status once $end", async ({ act, come, status }) => {
    const { robot, token } = await come()
    expect(await statusOf(token)).toBe(200)
    await act(robot)
    expect(await statusOf(token)).toBe(status)
  })
})

describe("userinfo", () => {
  test("distinguishes a missing token from an invalid one (RFC 6750 §3)", async () => {
    const none = await provider.send("/oidc/v1/userinfo")
    expect([none.status, none.headers.get("www-authenticate")]).toEqual([
      401,
      'Bearer realm="userinfo"',
    ])
    const headers = { authorization: "Bearer nonsense" }
    const wrong = await provider.send("/oidc/v1/userinfo", { headers })
    expect(wrong.headers.get("www-authenticate")).toContain('error="invalid_token"')
  })

  test("accepts GET and POST, with the token in the header or the form", async () => {
    const { token } = await createFixture("bearer")
    const headers = { authorization: `Bearer ${token}` }
    const posted = await provider.send("/oidc/v1/userinfo", { method: "POST", headers })
    expect(posted.status).toBe(200)
    const body = new URLSearchParams({ access_token: token })
    expect((await provider.send("/oidc/v1/userinfo", { method: "POST", body })).status).toBe(200)
  })
})
