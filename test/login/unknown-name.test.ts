// ignore_unknown_usernames: whether the sign-in says that nobody has a login name, and to whom.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest"
import { createOrganization } from "../../src/domain/org/commands.ts"
import { org } from "../../src/domain/org/index.ts"
import { addPolicy } from "../../src/domain/policy/commands.ts"
import { login } from "../../src/domain/policy/index.ts"
import { createUser } from "../../src/domain/user/create.ts"
import { limitsOf } from "../../src/kernel/limit.ts"
import {
  answerOf,
  authorizePath,
  browserOf,
  type NewClient,
  openProvider,
  type Provider,
} from "../oauth/provider.ts"
import { type Calling, openLoginPage } from "../support/login-page.ts"

let provider: Provider
let client: NewClient
let call: Calling
beforeEach(async () => {
  provider = await openProvider()
  client = await provider.addClient()
  call = await openLoginPage(provider)
  await createOrganization(provider.cx(), "other", { name: "Other" })
  await createUser(provider.cx(), "oscar", {
    kind: "human",
    orgId: "other",
    userName: "oscar",
    profile: { givenName: "Oscar", familyName: "Other" },
    email: { value: "oscar@elsewhere.example", verified: true },
  })
})
afterEach(() => provider.close())

/** What an organization, or the instance, says. */
const say = (orgId: string | undefined, ignoreUnknownUsernames: boolean) =>
  addPolicy(provider.cx(), orgId, { policy: login, say: () => ({ ignoreUnknownUsernames }) })

const domainOf = (orgId: string) =>
  provider.cx().store.state(provider.cx(), org, orgId).primaryDomain

const ofOrg = (orgId: string) => ({ scope: `openid urn:core:iam:org:id:${orgId}` })

/** What the page says to a name, and the session API to the same. */
async function told(
  loginName: string,
  more: Record<string, string> = {},
): Promise<"unknown" | "goes on"> {
  const browser = browserOf(provider)
  const end = await browser.post(await browser.go(authorizePath(client.id, more)), { loginName })
  if (end.page.includes("current-password")) return "goes on"
  expect(end.response.status).toBe(422)
  expect(end.page).toContain("No account has this login name.")
  expect(end.page).toContain(`value="${loginName}"`)
  return "unknown"
}

async function toldByApi(loginName: string): Promise<string> {
  const checks = { user: { search: { case: "loginName", value: loginName } } }
  const begun = call("session.v2.SessionService/CreateSession", { checks })
  return begun.then(() => "goes on").catch(({ id }) => (id === "user.missing" ? "unknown" : id))
}

test("names go on like any other, unless the instance says otherwise", async () => {
  expect([await told("nobody"), await toldByApi("nobody")]).toEqual(["goes on", "goes on"])
  await say(undefined, false)
  expect([await told("nobody"), await toldByApi("nobody")]).toEqual(["unknown", "unknown"])
})

test("names that somebody has go on, and sign in", async () => {
  await say(undefined, false)
  expect(await told("olga")).toBe("goes on")
  expect(await told("oscar")).toBe("goes on")
  const end = await browserOf(provider).signIn(authorizePath(client.id), "olga")
  expect(answerOf(end)).toHaveProperty("code")
})

describe("an organization that hides its users", () => {
  beforeEach(async () => {
    await say(undefined, false)
    await say("other", true)
  })

  test("hides names in its domain, and those that could be its users'", async () => {
    for (const name of [`nobody@${domainOf("other")}`, "nobody", "nobody@mail.example"]) {
      expect([name, await told(name), await toldByApi(name)]).toEqual([name, "goes on", "goes on"])
    }
    const ours = `nobody@${domainOf(provider.setup.orgId)}`
    expect([await told(ours), await toldByApi(ours)]).toEqual(["unknown", "unknown"])
  })

  test("hides them from those who sign in to it, and is unknown to others", async () => {
    expect(await told("nobody", ofOrg("other"))).toBe("goes on")
    const { orgId } = provider.setup
    expect(await told("nobody", ofOrg(orgId))).toBe("unknown")
    expect(await told("oscar", ofOrg(orgId))).toBe("unknown")
    expect(await told("olga", ofOrg(orgId))).toBe("goes on")
  })

  test("has nothing looked for, so that the time is the same", async () => {
    await told("warm-up", ofOrg("other"))
    const held = vi.spyOn(provider.store.log, "holder")
    const counted = async (loginName: string) => {
      const browser = browserOf(provider)
      const first = await browser.go(authorizePath(client.id, ofOrg("other")))
      held.mockClear()
      await browser.post(first, { loginName })
      return held.mock.calls.filter(([, claim]) => claim === "login_name").length
    }
    expect(await counted("oscar")).toBe(await counted("osbar"))
    expect(await counted("oscar")).toBe(0)
    held.mockRestore()
  })
})

test("an organization that does not hide its users says so for its own names alone", async () => {
  await say("other", false)
  const theirs = `nobody@${domainOf("other")}`
  expect([await told(theirs), await toldByApi(theirs)]).toEqual(["unknown", "unknown"])
  expect(await told("nobody", ofOrg("other"))).toBe("unknown")
  expect([await told("nobody"), await toldByApi("nobody")]).toEqual(["goes on", "goes on"])
})

test("names are not tried out without end", async () => {
  await say(undefined, false)
  const allowance = limitsOf(provider.clock, 0.01)({ address: "198.51.100.1" })
  const browser = browserOf({
    send: (to, init) => provider.send(to, init, { allowance }),
  })
  const first = await browser.go(authorizePath(client.id))
  const ends = new Set<number>()
  for (let count = 0; count < 100 && !ends.has(429); count++) {
    ends.add((await browser.post(first, { loginName: `nobody-${count}` })).response.status)
  }
  expect([...ends]).toEqual([422, 429])
})
