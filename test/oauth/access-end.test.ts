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
import { addServiceAccount, encodeBasic, signAssertion } from "./clients.ts"
import {
  authorizePath,
  browserOf,
  codeFields,
  findApiCaller,
  type NewClient,
  openProvider,
  type Provider,
  sendTokenRequest,
} from "./provider.ts"

let provider: Provider
let watcher: NewClient
beforeAll(async () => {
  provider = await openProvider()
})
afterAll(() => provider.close())

const managementScope = "urn:core:iam:org:project:id:core:aud"
const day = 86_400_000

/** A user in an organization with an application in its project. */
type UserFixture = {
  readonly orgId: string
  readonly projectId: string
  readonly userId: string
  readonly sessionId: string
  readonly grantId: string
  readonly client: NewClient
  readonly browser: ReturnType<typeof browserOf>
  /** The tokens by kind. */
  readonly tokens: Readonly<Record<"opaque" | "jwt" | "refreshed", string>>
  readonly refreshToken: string
  readonly idToken: string
}

let count = 0

async function createFixture(): Promise<UserFixture> {
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
    const { answer } = await sendTokenRequest(
      provider,
      codeFields(code),
      `${client.id}:${client.secret}`,
    )
    return answer
  }
  const signed = await enter(await browser.signIn(authorizePath(client.id, { scope }), name))
  await app.updateApplication(cx, client.appId, { oidc: { tokenType: "bearer" } })
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
  sendTokenRequest(
    provider,
    { grant_type: "refresh_token", refresh_token },
    `${client.id}:${client.secret}`,
  )

/** The results at each place that accepts access tokens. */
async function checkAcceptance(token: string): Promise<Readonly<Record<string, boolean>>> {
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
  const api = await findApiCaller(provider, token).then(
    () => true,
    ({ id }) => id === "token.audience",
  )
  return { userinfo: userinfo.status === 200, introspection: active === true, api }
}

/** The API recognizes a token meant for another audience. */
const acceptedEverywhere = { userinfo: true, introspection: true, api: true }
const rejectedEverywhere = { userinfo: false, introspection: false, api: false }

type EndAction = (person: UserFixture) => Promise<unknown>

/** The last word of each row: whether the refresh token stays valid. */
const ends: Readonly<Record<string, readonly [end: EndAction, refresh: "lives" | "dies"]>> = {
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
  // OpenID Connect Back-Channel Logout §2.7: offline access outlives the session.
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
  let person: UserFixture
  beforeAll(async () => {
    person = await createFixture()
    for (const token of Object.values(person.tokens))
      expect(await checkAcceptance(token)).toEqual(acceptedEverywhere)
    await end(person)
  })

  test.each(["opaque", "jwt", "refreshed"] as const)(
    "an %s access token is invalid",
    async (kind) => {
      expect(await checkAcceptance(person.tokens[kind])).toEqual(rejectedEverywhere)
    },
  )

  test(`the refresh token ${refreshToken}`, async () => {
    const { status } = await refresh(person.client, person.refreshToken)
    expect(status === 200 ? "lives" : "dies").toBe(refreshToken)
  })
})

test("once a grant is revoked, all of its tokens are invalid, and no others", async () => {
  const { grantId, tokens, client, refreshToken } = await createFixture()
  expect(provider.store.state(provider.cx(), grant, grantId)).toMatchObject({ status: "active" })
  await provider.store.transact(provider.cx(), (tx) => endGrant(tx, grantId, "taken back"))
  expect(await checkAcceptance(tokens.jwt)).toEqual(rejectedEverywhere)
  expect(await checkAcceptance(tokens.refreshed)).toEqual(rejectedEverywhere)
  expect((await refresh(client, refreshToken)).status).toBe(400)
  expect(await checkAcceptance(tokens.opaque)).toEqual(acceptedEverywhere)
})

describe("the credential of a service account", () => {
  type Robot = Awaited<ReturnType<typeof addServiceAccount>>
  type Holder = { readonly robot: Robot; readonly orgId: string; readonly tokenId: string }
  const scope = `openid ${managementScope}`
  const credentials = { grant_type: "client_credentials", scope }
  let holder: Holder
  let tokens: Readonly<Record<"secret" | "key" | "personal", string>>

  beforeEach(async () => {
    watcher = await provider.addClient({ authMethod: "basic" })
    const cx = provider.cx()
    const orgId = cx.ids.next()
    await createOrganization(cx, orgId, { name: `Org ${orgId}` })
    const robot = await addServiceAccount(provider, "jwt", orgId)
    const bySecret = await sendTokenRequest(
      provider,
      credentials,
      encodeBasic(robot.id, robot.secret),
    )
    const byKey = await sendTokenRequest(provider, {
      ...credentials,
      ...(await signAssertion(provider, robot)),
    })
    const made = await createPersonalToken(cx, robot.userId, provider.clock.now() + day)
    holder = { robot, orgId, tokenId: made.id }
    tokens = {
      secret: String(bySecret.answer.access_token),
      key: String(byKey.answer.access_token),
      personal: made.token,
    }
    for (const token of Object.values(tokens))
      expect((await checkAcceptance(token)).userinfo).toBe(true)
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
  test.each(Object.entries(robotEnds))("is invalid once %s", async (_, [end, dead]) => {
    await end(holder)
    for (const kind of all) {
      const expected = dead.includes(kind) ? rejectedEverywhere : { userinfo: true }
      expect(await checkAcceptance(tokens[kind]), kind).toMatchObject(expected)
    }
  })
})
