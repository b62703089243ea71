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
import { addRobot, asserted, basicOf } from "./clients.ts"
import {
  answerOf,
  askToken,
  authorizePath,
  browserOf,
  codeFields,
  type NewClient,
  openProvider,
  type Provider,
} from "./provider.ts"

let provider: Provider
beforeAll(async () => {
  provider = await openProvider()
})
afterAll(() => provider.close())

/** A person of an organisation of their own, signed in to an application of one's own project. */
type Given = {
  readonly name: string
  readonly orgId: string
  readonly userId: string
  readonly projectId: string
  readonly client: NewClient
  readonly browser: ReturnType<typeof browserOf>
  readonly token: string
  readonly idToken: string
}
let given: Given
let count = 0

const begin = async (tokenType: TokenType): Promise<Given> => {
  const cx = provider.cx()
  const name = `person${count++}`
  const orgId = cx.ids.next()
  await createOrganization(cx, orgId, { name: `Org of ${name}` })
  const projectId = cx.ids.next()
  await project.createProject(cx, projectId, { orgId, name })
  const userId = await provider.addPerson(name, orgId)
  const client = await provider.addClient({ tokenType }, projectId)
  const browser = browserOf(provider)
  const { code = "" } = answerOf(await browser.signIn(authorizePath(client.id), name))
  const as = `${client.id}:${client.secret}`
  const { answer } = await askToken(provider, codeFields(code), as)
  const [token, idToken] = [String(answer.access_token), String(answer.id_token)]
  return { name, orgId, userId, projectId, client, browser, token, idToken }
}

const statusOf = async (token: string) => {
  const headers = { authorization: `Bearer ${token}` }
  return (await provider.send("/oidc/v1/userinfo", { headers })).status
}

describe.each(["bearer", "jwt"] as const)("an access token (%s)", (tokenType) => {
  beforeEach(async () => {
    given = await begin(tokenType)
    expect(await statusOf(given.token)).toBe(200)
  })

  type End = (cx: ReturnType<Provider["cx"]>) => Promise<unknown>
  const ends: Readonly<Record<string, End>> = {
    "its user is deactivated": (cx) => deactivateUser(cx, given.userId),
    "its user is locked": (cx) => lockUser(cx, given.userId),
    "its user is removed": (cx) => removeUser(cx, given.userId),
    "the organisation is deactivated": (cx) => org.deactivateOrganization(cx, given.orgId),
    "the organisation is removed": (cx) => org.removeOrganization(cx, given.orgId),
    "the project is deactivated": (cx) => project.deactivateProject(cx, given.projectId),
    "the application is deactivated": (cx) => app.deactivateApplication(cx, given.client.appId),
    "the application is removed": (cx) => app.removeApplication(cx, given.client.appId),
    "the password is changed": async (cx) => {
      const fresh = await createPassword("Another-Horse-8", { names: [] })
      return setPassword(cx, given.userId, fresh)
    },
    "the person signs out": () =>
      given.browser.go(`/oidc/v1/endsession?id_token_hint=${given.idToken}`),
    "the session is too old": async () => provider.clock.advance(10 * 86_400_000),
    "it expires": async () => provider.clock.advance(12 * 3_600_000),
  }
  test.each(Object.entries(ends))("is worth nothing once %s", async (_, end) => {
    await end(provider.cx())
    expect(await statusOf(given.token)).toBe(401)
  })

  test("stays worth nothing when the person comes back with a new password", async () => {
    const next = "Another-Horse-8"
    const fresh = await createPassword(next, { names: [] })
    await setPassword(provider.cx(), given.userId, fresh)
    const end = await given.browser.signIn(authorizePath(given.client.id), given.name, next)
    expect(answerOf(end).code).toBeDefined()
    expect(await statusOf(given.token)).toBe(401)
  })

  test.each([
    ["user was locked", "userId", lockUser, unlockUser],
    ["user was deactivated", "userId", deactivateUser, reactivateUser],
    ["organisation was deactivated", "orgId", org.deactivateOrganization, activateOrganization],
  ] as const)("stays worth nothing when its %s and is back", async (_, what, stop, start) => {
    await stop(provider.cx(), given[what])
    await start(provider.cx(), given[what])
    expect(await statusOf(given.token)).toBe(401)
    // Nor does the browser still know them: they have to sign in.
    const silent = await given.browser.go(authorizePath(given.client.id, { prompt: "none" }))
    expect(answerOf(silent).error).toBe("login_required")
    const again = await given.browser.signIn(authorizePath(given.client.id), given.name)
    expect(answerOf(again).code).toBeDefined()
    expect(await statusOf(given.token)).toBe(401)
  })

  test("is refused in any other spelling", async () => {
    const { token } = given
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

describe("a token of a service user hangs from what it came with:", () => {
  const day = 86_400_000
  type Robot = Awaited<ReturnType<typeof addRobot>> & { readonly tokenId: string }
  type Came = { readonly robot: Robot; readonly token: string }
  const grant_type = "client_credentials"
  const robotWith = async (): Promise<Robot & { readonly personal: string }> => {
    const robot = await addRobot(provider, "jwt")
    const end = provider.clock.now() + day / 4
    const made = await createPersonalToken(provider.cx(), robot.userId, end)
    return { ...robot, tokenId: made.id, personal: made.token }
  }
  const ways: Readonly<Record<string, () => Promise<Came>>> = {
    "secret/ID": async () => {
      const robot = await robotWith()
      const basic = basicOf(robot.id, robot.secret)
      const { answer } = await askToken(provider, { grant_type, scope: "openid" }, basic)
      return { robot, token: String(answer.access_token) }
    },
    "key/ID": async () => {
      const robot = await robotWith()
      const fields = await asserted(provider, robot)
      const { answer } = await askToken(provider, { grant_type, scope: "openid", ...fields })
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
  test.each(rows)("$anchor answers $status once $end", async ({ act, come, status }) => {
    const { robot, token } = await come()
    expect(await statusOf(token)).toBe(200)
    await act(robot)
    expect(await statusOf(token)).toBe(status)
  })
})

describe("userinfo", () => {
  test("tells an absent token from a wrong one (RFC 6750 §3)", async () => {
    const none = await provider.send("/oidc/v1/userinfo")
    expect([none.status, none.headers.get("www-authenticate")]).toEqual([
      401,
      'Bearer realm="userinfo"',
    ])
    const headers = { authorization: "Bearer nonsense" }
    const wrong = await provider.send("/oidc/v1/userinfo", { headers })
    expect(wrong.headers.get("www-authenticate")).toContain('error="invalid_token"')
  })

  test("takes GET and POST, with the token in the header or the form", async () => {
    const { token } = await begin("bearer")
    const headers = { authorization: `Bearer ${token}` }
    const posted = await provider.send("/oidc/v1/userinfo", { method: "POST", headers })
    expect(posted.status).toBe(200)
    const body = new URLSearchParams({ access_token: token })
    expect((await provider.send("/oidc/v1/userinfo", { method: "POST", body })).status).toBe(200)
  })
})
