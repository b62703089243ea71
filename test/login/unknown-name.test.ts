// ignore_unknown_usernames: whether the sign-in reveals that a login name doesn't exist, and to
// whom.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest"
import { createOrganization } from "../../src/domain/org/commands.ts"
import { org } from "../../src/domain/org/index.ts"
import { addPolicy } from "../../src/domain/policy/commands.ts"
import { login } from "../../src/domain/policy/index.ts"
import { createUser } from "../../src/domain/user/create.ts"
import { createLimits } from "../../src/kernel/limit.ts"
import {
  authorizePath,
  browserOf,
  type NewClient,
  openProvider,
  type Provider,
  responseOf,
} from "../oauth/provider.ts"
import { addLoginPageCaller, type CallAs } from "../support/operation-caller.ts"

let provider: Provider
let client: NewClient
let call: CallAs
beforeEach(async () => {
  provider = await openProvider()
  client = await provider.addClient()
  call = await addLoginPageCaller(provider)
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

/** Sets the policy of an organization, or of the instance. */
const setPolicy = (orgId: string | undefined, ignoreUnknownUsernames: boolean) =>
  addPolicy(provider.cx(), orgId, { policy: login, apply: () => ({ ignoreUnknownUsernames }) })

const domainOf = (orgId: string) =>
  provider.cx().store.state(provider.cx(), org, orgId).primaryDomain

const ofOrg = (orgId: string) => ({ scope: `openid urn:core:iam:org:id:${orgId}` })

/** The page's response to a name; the session API must agree. */
async function submitName(
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

async function submitByApi(loginName: string): Promise<string> {
  const checks = { user: { search: { case: "loginName", value: loginName } } }
  const begun = call("session.v2.SessionService/CreateSession", { checks })
  return begun.then(() => "goes on").catch(({ id }) => (id === "user.missing" ? "unknown" : id))
}

test("unknown names continue like others by default", async () => {
  expect([await submitName("nobody"), await submitByApi("nobody")]).toEqual(["goes on", "goes on"])
  await setPolicy(undefined, false)
  expect([await submitName("nobody"), await submitByApi("nobody")]).toEqual(["unknown", "unknown"])
})

test("existing names continue, and sign in", async () => {
  await setPolicy(undefined, false)
  expect(await submitName("olga")).toBe("goes on")
  expect(await submitName("oscar")).toBe("goes on")
  const end = await browserOf(provider).signIn(authorizePath(client.id), "olga")
  expect(responseOf(end)).toHaveProperty("code")
})

describe("an organization that hides its users", () => {
  beforeEach(async () => {
    await setPolicy(undefined, false)
    await setPolicy("other", true)
  })

  test("hides names in its domain, and those that could belong to its users", async () => {
    for (const name of [`nobody@${domainOf("other")}`, "nobody", "nobody@mail.example"]) {
      expect([name, await submitName(name), await submitByApi(name)]).toEqual([
        name,
        "goes on",
        "goes on",
      ])
    }
    const ours = `nobody@${domainOf(provider.setup.orgId)}`
    expect([await submitName(ours), await submitByApi(ours)]).toEqual(["unknown", "unknown"])
  })

  test("hides them in sign-ins to it, and is unknown to others", async () => {
    expect(await submitName("nobody", ofOrg("other"))).toBe("goes on")
    const { orgId } = provider.setup
    expect(await submitName("nobody", ofOrg(orgId))).toBe("unknown")
    expect(await submitName("oscar", ofOrg(orgId))).toBe("unknown")
    expect(await submitName("olga", ofOrg(orgId))).toBe("goes on")
  })

  test("has no lookup for them, so that the time is the same", async () => {
    await submitName("warm-up", ofOrg("other"))
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

test("an organization that does not hide its users reveals only its own names", async () => {
  await setPolicy("other", false)
  const theirs = `nobody@${domainOf("other")}`
  expect([await submitName(theirs), await submitByApi(theirs)]).toEqual(["unknown", "unknown"])
  expect(await submitName("nobody", ofOrg("other"))).toBe("unknown")
  expect([await submitName("nobody"), await submitByApi("nobody")]).toEqual(["goes on", "goes on"])
})

test("names can't be tried without limit", async () => {
  await setPolicy(undefined, false)
  const allowance = createLimits(provider.clock, 0.01)({ address: "198.51.100.1" })
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
