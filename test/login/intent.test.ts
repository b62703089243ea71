// Signing in with a provider on a login page of somebody else, by the operations alone.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { addIdp } from "../../src/domain/idp/commands.ts"
import { session } from "../../src/domain/session/index.ts"
import { findByLoginName } from "../../src/domain/user-lookup/find-name.ts"
import { browserOf, openProvider, type Provider } from "../oauth/provider.ts"
import { type Calling, openLoginPage } from "../support/login-page.ts"
import { openUpstream, type Upstream, upstreamIssuer } from "../support/upstream.ts"

let provider: Provider
let call: Calling
let upstream: Upstream
let idpId: string
beforeAll(async () => {
  provider = await openProvider()
  call = await openLoginPage(provider)
  upstream = await openUpstream()
  const { id } = await addIdp(provider.cx(), undefined, {
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
  upstream.lies = {}
})

const urls = {
  successUrl: "https://login.example.com/ok?x=1",
  failureUrl: "https://login.example.com/no",
}
let people = 0
const newPerson = () => ({
  sub: `sub-${++people}`,
  preferred_username: `ada${people}`,
  given_name: "Ada",
  family_name: "Lovelace",
  email: `ada${people}@example.com`,
  email_verified: true,
})

/** Begins an intent and comes back from the provider; answers what the login page is told. */
async function walk(person: object): Promise<Record<string, string>> {
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

const retrieve = (told: Record<string, string>, by = call) =>
  by("user.v2.UserService/RetrieveIdentityProviderIntent", {
    idpIntentId: told.id,
    idpIntentToken: told.token,
  })

const check = (told: Record<string, string>) =>
  call("session.v2.SessionService/CreateSession", {
    checks: { idpIntent: { idpIntentId: told.id, idpIntentToken: told.token } },
  })

/** Makes the user that the intent suggests. */
async function createSuggested(told: Record<string, string>): Promise<string> {
  const { userAction } = await retrieve(told)
  const { username, userType } = userAction.value
  const owner = provider.setup.orgId
  const made = { organizationId: owner, username, userType }
  return (await call("user.v2.UserService/CreateUser", made)).id
}

describe("a login page of somebody else", () => {
  test("is told who came back, and with what", async () => {
    const told = await walk(newPerson())
    expect(told).toMatchObject({ at: "https://login.example.com/ok", x: "1" })
    const { idpInformation, userId, userAction } = await retrieve(told)
    expect(idpInformation).toMatchObject({
      idpId,
      userId: `sub-${people}`,
      userName: `ada${people}`,
      access: { case: "oauth", value: { accessToken: "at" } },
      rawInformation: { family_name: "Lovelace" },
    })
    expect([userId, userAction.case]).toEqual(["", "createUser"])
  })

  test("makes a session of it once there is a user, and once only", async () => {
    const person = newPerson()
    const told = await walk(person)
    await expect(check(told)).rejects.toMatchObject({ id: "session.intent_unlinked" })
    await createSuggested(told)
    const { sessionId, sessionToken } = await check(told)
    const { session } = await call("session.v2.SessionService/GetSession", {
      sessionId,
      sessionToken,
    })
    expect(session.factors.user.id).toBe(findByLoginName(provider.cx(), `ada${people}`))
    expect(session.factors.intent.verifiedAt).toBeDefined()
    await expect(check(told)).rejects.toMatchObject({ id: "idp.intent_over" })
    expect(await walk(person)).toMatchObject({ user: session.factors.user.id })
  })

  test("prolongs a session by another one, as by a password", async () => {
    const person = newPerson()
    const first = await walk(person)
    await createSuggested(first)
    const { sessionId } = await check(first)
    const state = () => provider.store.state(provider.cx(), session, sessionId)
    const before = state()
    provider.clock.advance(3_600_000)
    const { id: idpIntentId, token: idpIntentToken } = await walk(person)
    await call("session.v2.SessionService/SetSession", {
      sessionId,
      checks: { idpIntent: { idpIntentId, idpIntentToken } },
    })
    expect(state().authTime).toBe(before.authTime + 3_600_000)
    expect(state().expires).toBe(before.expires + 3_600_000)
  })

  test("is told what went wrong", async () => {
    upstream.lies = {}
    const person = newPerson()
    const more = { outside: upstream.outside }
    const started = await call(
      "user.v2.UserService/StartIdentityProviderIntent",
      { idpId, content: { case: "urls", value: urls } },
      more,
    )
    const back = upstream.signIn(started.nextStep.value, person)
    upstream.lies = { idToken: { nonce: "other" } }
    const browser = browserOf({ send: (path, init) => provider.send(path, init, more) })
    const { path } = await browser.go(back)
    expect(path).toMatch(/^https:\/\/login\.example\.com\/no\?.*error=idp\.answer_refused/)
  })
})

describe("an attack is refused:", () => {
  const over = { id: "idp.intent_over" }

  test("another login page asks for the intent", async () => {
    const told = await walk(newPerson())
    const other: Calling = (name, request) =>
      call(name, request, {
        caller: { kind: "user", userId: "other", orgId: provider.setup.orgId, clientId: "x" },
      })
    await expect(retrieve(told, other)).rejects.toBeDefined()
  })

  test("a token that is another's", async () => {
    const [mine, theirs] = [await walk(newPerson()), await walk(newPerson())]
    await expect(retrieve({ ...mine, token: theirs.token ?? "" })).rejects.toMatchObject(over)
  })

  test("an intent after its hour", async () => {
    const told = await walk(newPerson())
    provider.clock.advance(60 * 60_000)
    await expect(retrieve(told)).rejects.toMatchObject(over)
  })

  test("an intent for a session of somebody else", async () => {
    const told = await walk(newPerson())
    await createSuggested(told)
    const search = { case: "loginName", value: "olga" }
    const idpIntent = { idpIntentId: told.id, idpIntentToken: told.token }
    const request = { checks: { user: { search }, idpIntent } }
    await expect(call("session.v2.SessionService/CreateSession", request)).rejects.toMatchObject({
      id: "session.proof_wrong",
    })
  })
})
