import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { removeProjectWithApps } from "../../src/domain/app/commands.ts"
import * as app from "../../src/domain/app/index.ts"
import { createPassword, setPassword } from "../../src/domain/credential/index.ts"
import { endGrant, grant } from "../../src/domain/grant/index.ts"
import { createOrganization } from "../../src/domain/org/commands.ts"
import * as org from "../../src/domain/org/index.ts"
import * as project from "../../src/domain/project/index.ts"
import { generateMachineSecret } from "../../src/domain/service-account/machine-secret.ts"
import {
  createPersonalToken,
  removePersonalToken,
} from "../../src/domain/service-account/personal-token.ts"
import { removeServiceKey } from "../../src/domain/service-account/service-key.ts"
import { endSession } from "../../src/domain/session/index.ts"
import { deactivateUser, lockUser, removeUser } from "../../src/domain/user/index.ts"
import { addRobot, asserted, basicOf } from "./clients.ts"
import {
  apiCallerOf,
  askToken,
  authorizePath,
  browserOf,
  codeFields,
  type NewClient,
  openProvider,
  type Provider,
} from "./provider.ts"

let provider: Provider
let watcher: NewClient
beforeAll(async () => {
  provider = await openProvider()
})
afterAll(() => provider.close())

const core = "urn:core:iam:org:project:id:core:aud"
const day = 86_400_000

/** A person of their own organisation with an application of their own project. */
type Person = {
  readonly orgId: string
  readonly projectId: string
  readonly userId: string
  readonly sessionId: string
  readonly grantId: string
  readonly client: NewClient
  readonly browser: ReturnType<typeof browserOf>
  /** By what kind of token it is. */
  readonly tokens: Readonly<Record<"opaque" | "jwt" | "refreshed", string>>
  readonly refreshToken: string
  readonly idToken: string
}

let count = 0

async function begin(): Promise<Person> {
  const cx = provider.cx()
  const name = `person${count++}`
  const [orgId, projectId] = [cx.ids.next(), cx.ids.next()]
  await createOrganization(cx, orgId, { name: `Org of ${name}` })
  await project.createProject(cx, projectId, { orgId, name })
  const userId = await provider.addPerson(name, orgId)
  const grantTypes = ["authorization_code", "refresh_token"] as const
  const client = await provider.addClient({ grantTypes, tokenType: "jwt" }, projectId)
  watcher = await provider.addClient({}, projectId)
  const browser = browserOf(provider)
  const scope = "openid offline_access"
  const enter = async (at: { path: string }) => {
    const code = new URL(at.path).searchParams.get("code") ?? ""
    const { answer } = await askToken(provider, codeFields(code), `${client.id}:${client.secret}`)
    return answer
  }
  const signed = await enter(await browser.signIn(authorizePath(client.id, { scope }), name))
  await app.changeApplication(cx, client.appId, { oidc: { tokenType: "bearer" } })
  const opaque = await enter(await browser.go(authorizePath(client.id, { scope: "openid" })))
  const first = String(signed.refresh_token)
  const again = await refresh(client, first)
  const { jti } = claimsOf(String(signed.access_token))
  return {
    orgId,
    projectId,
    userId,
    client,
    browser,
    sessionId: String(claimsOf(String(signed.id_token)).sid),
    grantId: String(jti).split("-")[0] ?? "",
    tokens: {
      jwt: String(signed.access_token),
      opaque: String(opaque.access_token),
      refreshed: String(again.answer.access_token),
    },
    refreshToken: String(again.answer.refresh_token),
    idToken: String(signed.id_token),
  }
}

const claimsOf = (jwt: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(jwt.split(".")[1] ?? "", "base64url").toString())

const refresh = (client: NewClient, refresh_token: string) =>
  askToken(
    provider,
    { grant_type: "refresh_token", refresh_token },
    `${client.id}:${client.secret}`,
  )

/** Where an access token is used, and whether each place takes it. */
async function uses(token: string): Promise<Readonly<Record<string, boolean>>> {
  const headers = { authorization: `Bearer ${token}` }
  const userinfo = await provider.send("/oidc/v1/userinfo", { headers })
  const body = new URLSearchParams({ token })
  const basic = Buffer.from(`${watcher.id}:${watcher.secret}`).toString("base64")
  const introspected = await provider.send("/oauth/v2/introspect", {
    method: "POST",
    body,
    headers: { authorization: `Basic ${basic}` },
  })
  const { active } = await introspected.json()
  const api = await apiCallerOf(provider, token).then(
    () => true,
    ({ id }) => id === "token.audience",
  )
  return { userinfo: userinfo.status === 200, introspection: active === true, api }
}

/** At the interface a token that is meant for something else is still known to be one. */
const everywhere = { userinfo: true, introspection: true, api: true }
const nowhere = { userinfo: false, introspection: false, api: false }

type End = (person: Person) => Promise<unknown>

/** Whether the refresh token lives on is the last word of each row. */
const ends: Readonly<Record<string, readonly [end: End, refresh: "lives" | "dies"]>> = {
  "the user is deactivated": [({ userId }) => deactivateUser(provider.cx(), userId), "dies"],
  "the user is locked": [({ userId }) => lockUser(provider.cx(), userId), "dies"],
  "the user is deleted": [({ userId }) => removeUser(provider.cx(), userId), "dies"],
  "the password is changed": [
    async ({ userId }) => {
      const fresh = await createPassword("Another-Horse-8", { names: [] })
      return setPassword(provider.cx(), userId, fresh)
    },
    "dies",
  ],
  "the organisation is deactivated": [
    ({ orgId }) => org.deactivateOrganization(provider.cx(), orgId),
    "dies",
  ],
  "the organisation is removed": [
    ({ orgId }) => org.removeOrganization(provider.cx(), orgId),
    "dies",
  ],
  "the project is deactivated": [
    ({ projectId }) => project.deactivateProject(provider.cx(), projectId),
    "dies",
  ],
  "the project is deleted": [
    ({ projectId }) => removeProjectWithApps(provider.cx(), projectId),
    "dies",
  ],
  "the application is deactivated": [
    ({ client }) => app.deactivateApplication(provider.cx(), client.appId),
    "dies",
  ],
  "the application is deleted": [
    ({ client }) => app.removeApplication(provider.cx(), client.appId),
    "dies",
  ],
  // OpenID Connect Back-Channel Logout §2.7: what was given for offline use outlives the session.
  "the person signs out": [
    ({ browser, idToken }) => browser.go(`/oidc/v1/endsession?id_token_hint=${idToken}`),
    "lives",
  ],
  "the session is ended": [
    ({ sessionId }) => provider.store.transact(provider.cx(), (tx) => endSession(tx, sessionId)),
    "lives",
  ],
}

describe.each(Object.entries(ends))("once %s", (_, [end, refreshToken]) => {
  let person: Person
  beforeAll(async () => {
    person = await begin()
    for (const token of Object.values(person.tokens)) expect(await uses(token)).toEqual(everywhere)
    await end(person)
  })

  test.each(["opaque", "jwt", "refreshed"] as const)(
    "an %s access token is worth nothing",
    async (kind) => {
      expect(await uses(person.tokens[kind])).toEqual(nowhere)
    },
  )

  test(`the refresh token ${refreshToken}`, async () => {
    const { status } = await refresh(person.client, person.refreshToken)
    expect(status === 200 ? "lives" : "dies").toBe(refreshToken)
  })
})

test("once a grant is taken back, all of its tokens are worth nothing, and no others", async () => {
  const { grantId, tokens, client, refreshToken } = await begin()
  expect(provider.store.state(provider.cx(), grant, grantId)).toMatchObject({ status: "active" })
  await provider.store.transact(provider.cx(), (tx) => endGrant(tx, grantId, "taken back"))
  expect(await uses(tokens.jwt)).toEqual(nowhere)
  expect(await uses(tokens.refreshed)).toEqual(nowhere)
  expect((await refresh(client, refreshToken)).status).toBe(400)
  expect(await uses(tokens.opaque)).toEqual(everywhere)
})

describe("what a service user came with", () => {
  type Robot = Awaited<ReturnType<typeof addRobot>>
  type Holder = { readonly robot: Robot; readonly orgId: string; readonly tokenId: string }
  const scope = `openid ${core}`
  const credentials = { grant_type: "client_credentials", scope }
  let holder: Holder
  let tokens: Readonly<Record<"secret" | "key" | "personal", string>>

  beforeEach(async () => {
    watcher = await provider.addClient({ authMethod: "basic" })
    const cx = provider.cx()
    const orgId = cx.ids.next()
    await createOrganization(cx, orgId, { name: `Org ${orgId}` })
    const robot = await addRobot(provider, "jwt", orgId)
    const bySecret = await askToken(provider, credentials, basicOf(robot.id, robot.secret))
    const byKey = await askToken(provider, { ...credentials, ...(await asserted(provider, robot)) })
    const made = await createPersonalToken(cx, robot.userId, provider.clock.now() + day)
    holder = { robot, orgId, tokenId: made.id }
    tokens = {
      secret: String(bySecret.answer.access_token),
      key: String(byKey.answer.access_token),
      personal: made.token,
    }
    for (const token of Object.values(tokens)) expect((await uses(token)).userinfo).toBe(true)
  })

  type RobotEnd = (holder: Holder) => Promise<unknown>
  const all = ["secret", "key", "personal"] as const
  const robotEnds: Readonly<Record<string, readonly [RobotEnd, readonly (typeof all)[number][]]>> =
    {
      "it is deactivated": [({ robot }) => deactivateUser(provider.cx(), robot.userId), all],
      "it is locked": [({ robot }) => lockUser(provider.cx(), robot.userId), all],
      "it is deleted": [({ robot }) => removeUser(provider.cx(), robot.userId), all],
      "its organisation is deactivated": [
        ({ orgId }) => org.deactivateOrganization(provider.cx(), orgId),
        all,
      ],
      "its secret is replaced": [
        ({ robot }) => generateMachineSecret(provider.cx(), robot.userId),
        ["secret"],
      ],
      "its key is removed": [
        ({ robot }) => removeServiceKey(provider.cx(), robot.userId, robot.keyId),
        ["key"],
      ],
      "its personal token is removed": [
        ({ robot, tokenId }) => removePersonalToken(provider.cx(), robot.userId, tokenId),
        ["personal"],
      ],
    }
  test.each(Object.entries(robotEnds))("is worth nothing once %s", async (_, [end, dead]) => {
    await end(holder)
    for (const kind of all) {
      const expected = dead.includes(kind) ? nowhere : { userinfo: true }
      expect(await uses(tokens[kind]), kind).toMatchObject(expected)
    }
  })
})
