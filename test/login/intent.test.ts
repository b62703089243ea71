// Signing in with an identity provider on a custom login page, with API operations only.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { createIdp } from "../../src/domain/idp/commands.ts"
import { session } from "../../src/domain/session/index.ts"
import { findByLoginName } from "../../src/domain/user-lookup/find-name.ts"
import { browserOf, openProvider, type Provider } from "../oauth/provider.ts"
import { addLoginPageCaller, type CallAs } from "../support/operation-caller.ts"
import { openUpstream, type Upstream, upstreamIssuer } from "../support/upstream.ts"

let provider: Provider
let call: CallAs
let upstream: Upstream
let idpId: string
beforeAll(async () => {
  provider = await openProvider()
  call = await addLoginPageCaller(provider)
  upstream = await openUpstream()
  const { id } = await createIdp(provider.cx(), undefined, {
    name: "Acme",
    settings: {
      kind: "oidc",
      issuer: upstreamIssuer,
      clientId: "client",
      scopes: [],
      isIdTokenMapping: false,
      usePkce: true,
    },
    options: {
      isLinkingAllowed: true,
      isCreationAllowed: true,
      isAutoCreation: false,
      isAutoUpdate: false,
      autoLinking: "off",
    },
    secret: "s3cret",
  })
  idpId = id
})
afterAll(() => provider.close())
beforeEach(() => {
  upstream.overrides = {}
})

const urls = {
  successUrl: "https://login.example.com/ok?x=1",
  failureUrl: "https://login.example.com/no",
}
let userCount = 0
const newPerson = () => ({
  sub: `sub-${++userCount}`,
  preferred_username: `ada${userCount}`,
  given_name: "Ada",
  family_name: "Lovelace",
  email: `ada${userCount}@example.com`,
  email_verified: true,
})

/**
 * Starts an intent and returns from the provider; returns the parameters that the login page
 * receives.
 */
async function signInAtProvider(person: object): Promise<Record<string, string>> {
  const more = { outside: upstream.outside }
  const content = { case: "urls", value: urls }
  const started = await call(
    "user.v2.UserService/StartIdentityProviderIntent",
    { idpId, content },
    more,
  )
  const browser = browserOf({ send: (path, init) => provider.send(path, init, more) })
  const end = await browser.go(upstream.signIn(started.nextStep.value, { ...person }))
  const url = new URL(end.path)
  return { at: url.origin + url.pathname, ...Object.fromEntries(url.searchParams) }
}

const retrieve = (received: Record<string, string>, by = call) =>
  by("user.v2.UserService/RetrieveIdentityProviderIntent", {
    idpIntentId: received.id,
    idpIntentToken: received.token,
  })

const check = (received: Record<string, string>) =>
  call("session.v2.SessionService/CreateSession", {
    checks: { idpIntent: { idpIntentId: received.id, idpIntentToken: received.token } },
  })

/** Creates the user that the intent suggests. */
async function createSuggested(received: Record<string, string>): Promise<string> {
  const { userAction } = await retrieve(received)
  const { username, userType } = userAction.value
  const owner = provider.setup.orgId
  const made = { organizationId: owner, username, userType }
  return (await call("user.v2.UserService/CreateUser", made)).id
}

describe("a custom login page", () => {
  test("receives the user and the provider's data", async () => {
    const told = await signInAtProvider(newPerson())
    expect(told).toMatchObject({ at: "https://login.example.com/ok", x: "1" })
    const { idpInformation, userId, userAction } = await retrieve(told)
    expect(idpInformation).toMatchObject({
      idpId,
      userId: `sub-${userCount}`,
      userName: `ada${userCount}`,
      access: { case: "oauth", value: { accessToken: "at" } },
      rawInformation: { family_name: "Lovelace" },
    })
    expect([userId, userAction.case]).toEqual(["", "createUser"])
  })

  test("creates a session from it once there is a user, and only once", async () => {
    const person = newPerson()
    const told = await signInAtProvider(person)
    await expect(check(told)).rejects.toMatchObject({ id: "session.intent_unlinked" })
    await createSuggested(told)
    const { sessionId, sessionToken } = await check(told)
    const { session } = await call("session.v2.SessionService/GetSession", {
      sessionId,
      sessionToken,
    })
    expect(session.factors.user.id).toBe(findByLoginName(provider.cx(), `ada${userCount}`))
    expect(session.factors.intent.verifiedAt).toBeDefined()
    await expect(check(told)).rejects.toMatchObject({ id: "idp.intent_over" })
    expect(await signInAtProvider(person)).toMatchObject({ user: session.factors.user.id })
  })

  test("extends a session by another one, as with a password", async () => {
    const person = newPerson()
    const first = await signInAtProvider(person)
    await createSuggested(first)
    const { sessionId } = await check(first)
    const state = () => provider.store.state(provider.cx(), session, sessionId)
    const before = state()
    provider.clock.advance(3_600_000)
    const { id: idpIntentId, token: idpIntentToken } = await signInAtProvider(person)
    await call("session.v2.SessionService/SetSession", {
      sessionId,
      checks: { idpIntent: { idpIntentId, idpIntentToken } },
    })
    expect(state().authTime).toBe(before.authTime + 3_600_000)
    expect(state().expires).toBe(before.expires + 3_600_000)
  })

  test("receives the error", async () => {
    upstream.overrides = {}
    const person = newPerson()
    const more = { outside: upstream.outside }
    const started = await call(
      "user.v2.UserService/StartIdentityProviderIntent",
      { idpId, content: { case: "urls", value: urls } },
      more,
    )
    const back = upstream.signIn(started.nextStep.value, person)
    upstream.overrides = { idToken: { nonce: "other" } }
    const browser = browserOf({ send: (path, init) => provider.send(path, init, more) })
    const { path } = await browser.go(back)
    expect(path).toMatch(/^https:\/\/login\.example\.com\/no\?.*error=idp\.answer_refused/)
  })
})

describe("an attack is rejected:", () => {
  const over = { id: "idp.intent_over" }

  test("another login page requests the intent", async () => {
    const told = await signInAtProvider(newPerson())
    const other: CallAs = (name, request) =>
      call(name, request, {
        caller: { kind: "user", userId: "other", orgId: provider.setup.orgId, clientId: "x" },
      })
    await expect(retrieve(told, other)).rejects.toBeDefined()
  })

  test("a token of another intent", async () => {
    const [mine, theirs] = [
      await signInAtProvider(newPerson()),
      await signInAtProvider(newPerson()),
    ]
    await expect(retrieve({ ...mine, token: theirs.token ?? "" })).rejects.toMatchObject(over)
  })

  test("an intent after its hour", async () => {
    const told = await signInAtProvider(newPerson())
    provider.clock.advance(60 * 60_000)
    await expect(retrieve(told)).rejects.toMatchObject(over)
  })

  test("an intent for a session of another user", async () => {
    const told = await signInAtProvider(newPerson())
    await createSuggested(told)
    const search = { case: "loginName", value: "olga" }
    const idpIntent = { idpIntentId: told.id, idpIntentToken: told.token }
    const request = { checks: { user: { search }, idpIntent } }
    await expect(call("session.v2.SessionService/CreateSession", request)).rejects.toMatchObject({
      id: "session.proof_wrong",
    })
  })
})
