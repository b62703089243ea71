// Who comes from a provider: whose scripts have a say, in what, and of whom.

import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { startLinking } from "../../../src/domain/federation/linking.ts"
import {
  answeredBy,
  idpById,
  intentOfBrowser,
  noteAnswered,
  type Options,
} from "../../../src/domain/idp/index.ts"
import { setDefaultOrg } from "../../../src/domain/instance/commands.ts"
import { addMember, type Target } from "../../../src/domain/member/index.ts"
import { createOrganization } from "../../../src/domain/org/commands.ts"
import { lockUser } from "../../../src/domain/user/index.ts"
import { profile } from "../../../src/domain/user-lookup/query.ts"
import { linksOf } from "../../../src/domain/user-model/links.ts"
import { user } from "../../../src/domain/user-model/model.ts"
import { askedAt } from "../../../src/login/entered/script.ts"
import { browserContextOf } from "../../../src/login/session.ts"
import {
  answerOf,
  authorizePath,
  hiddenFields,
  issuer,
  type Provider,
  password,
} from "../../oauth/provider.ts"
import { type Arrivals, ada, type Browser, openArrivals } from "./arrivals.ts"
import { bind } from "./bound.ts"

let arrivals: Arrivals
let provider: Provider
let home: string

/** An instance with two organisations: the one that everybody comes to, and "org2". */
async function open(options: Partial<Options> = {}): Promise<void> {
  arrivals = await openArrivals(options)
  provider = arrivals.provider
  home = provider.setup.orgId
  await createOrganization(provider.cx(), "org2", { name: "Globex" })
}
beforeEach(() => open())
afterEach(() => provider.close())

const bound = (body: string, orgId = home, triggerType: 1 | 2 = 1) =>
  bind(provider, {
    flowType: 1,
    triggerType,
    orgId,
    scripts: [`function f${triggerType}({ v1 }, api) { ${body} }`],
  })

const give = (userId: string, target: Target, role: string) =>
  provider.store.transact(provider.cx(), (tx) => addMember(tx, { userId, target, roles: [role] }))

const known = (userId = arrivals.here()) => profile(provider.cx(), userId)
const linksNow = (userId: string) =>
  linksOf(provider.cx().store.state(provider.cx(), user, userId)).map((each) => each.externalId)

describe("who may do more than whoever writes scripts", () => {
  const number = { phone_number: "+41791112233", phone_number_verified: true }
  const takenOver = `api.setFirstName("Mallory"); api.setEmail("m@evil.example")
    api.setEmailVerified(true); api.setPhone("+41790000000"); api.setPhoneVerified(true)`

  type Case = readonly [string, (() => readonly [Target, string]) | undefined, object]
  const cases: readonly Case[] = [
    ["an owner of the instance", () => [{ level: "instance" }, "IAM_OWNER"], { family_name: "K" }],
    ["an owner elsewhere", () => [{ level: "org", id: "org2" }, "ORG_OWNER"], {}],
    [
      "who administers a project",
      () => [{ level: "project", id: provider.projectId }, "PROJECT_OWNER"],
      { email: "ada@example.org" },
    ],
    ["nobody else", undefined, {}],
  ]
  test.each(cases)("is not called or reached as a script says: %s", async (_, membership, more) => {
    const claims = { ...ada, ...number, ...more }
    await arrivals.signIn({ ...ada, ...number })
    if (membership) await give(arrivals.here(), ...membership())
    await bound(takenOver)
    expect(answerOf(await arrivals.signIn(claims))).toHaveProperty("code")
    const said = {
      givenName: "Ada",
      familyName: claims.family_name,
      email: claims.email,
      phone: "+41791112233",
      emailVerified: true,
      phoneVerified: true,
    }
    const made = { givenName: "Mallory", email: "m@evil.example", phone: "+41790000000" }
    expect(known()).toMatchObject(membership ? said : made)
  })
})

describe("the page that asks who is new, and who is here already,", () => {
  beforeEach(async () => {
    await provider.close()
    await open({ isAutoCreation: false, autoLinking: "off" })
  })
  const create = {
    choice: "create",
    givenName: "Ada",
    familyName: "Lovelace",
    userName: "ada",
    email: ada.email,
  }
  /** The id of another request that waits in the browser. */
  const otherRequest = async (browser: Browser, orgId?: string) =>
    hiddenFields((await browser.go(arrivals.begin(orgId))).page).authRequest ?? ""

  type Other = (browser: Browser) => Promise<string> | string
  const cases: readonly (readonly [string, string | undefined, Other])[] = [
    ["of an organisation, as for none", "org2", () => ""],
    ["of an organisation, as for anybody", "org2", (browser) => otherRequest(browser)],
    ["of anybody, as for an organisation", undefined, (browser) => otherRequest(browser, "org2")],
    ["of anybody, as for none", undefined, () => ""],
  ]
  test.each(cases)("counts for its own sign-in alone: %s", async (_, orgId, other) => {
    await bound(`api.setEmailVerified(true)`, orgId)
    const browser = arrivals.newBrowser()
    const asked = await arrivals.signIn({ ...ada, email_verified: false }, { browser, orgId })
    const authRequest = await other(browser)
    const end = await browser.post(asked, { ...create, authRequest })
    expect([end.response.status, end.page.includes("expired")]).toEqual([400, true])
    expect(arrivals.here()).toBe("")
    expect(answerOf(await browser.post(asked, create))).toHaveProperty("code")
    expect(known()).toMatchObject({ emailVerified: true })
  })

  test("links nobody past the scripts of their organisation", async () => {
    const pat = await provider.addPerson("pat")
    await bound(`throw "Nobody comes in that way"`)
    const browser = arrivals.newBrowser()
    const asked = await arrivals.signIn(ada, { browser, orgId: "org2" })
    const link = { choice: "link", loginName: "pat", password }
    const past = await browser.post(asked, { ...link, authRequest: "" })
    expect([past.response.status, linksNow(pat)]).toEqual([400, []])
    const end = await browser.post(asked, link)
    expect([end.response.status, linksNow(pat)]).toEqual([403, []])
    expect(end.page).toContain("Nobody comes in that way")
  })

  test("makes an account as the scripts of its organisation say, whoever was asked", async () => {
    await bound(`api.setEmailVerified(true); api.setNickName("first")`)
    const browser = arrivals.newBrowser()
    const asked = await arrivals.signIn({ ...ada, email_verified: false }, { browser })
    await bound(`api.setDisplayName("Of Globex")`, "org2")
    await setDefaultOrg(provider.cx(), provider.cx().instance, "org2")
    await browser.post(asked, create)
    expect(known()).toMatchObject({ name: "Of Globex", nickName: "", emailVerified: false })
  })
})

describe("who may mend a script is not kept out by it", () => {
  const broken = "undefined.name()"

  test("when they come, but everybody else is", async () => {
    await arrivals.signIn()
    await bound(broken)
    expect((await arrivals.signIn()).response.status).toBe(403)
    await give(arrivals.here(), { level: "org", id: "org2" }, "ORG_OWNER")
    expect((await arrivals.signIn()).response.status).toBe(403)
    await give(arrivals.here(), { level: "org", id: home }, "ORG_OWNER")
    expect(answerOf(await arrivals.signIn())).toHaveProperty("code")
  })

  test("when they are linked as they come", async () => {
    const boss = await provider.addPerson("boss", "org2")
    await give(boss, { level: "org", id: "org2" }, "ORG_OWNER")
    await bound(broken, "org2")
    const browser = arrivals.newBrowser()
    const asked = await arrivals.signIn({ ...ada, family_name: "" }, { browser })
    const link = { choice: "link", loginName: "boss", password }
    expect(answerOf(await browser.post(asked, link))).toHaveProperty("code")
    expect(linksNow(boss)).toEqual(["ada-1"])
  })

  test("but nobody comes in by what they were let in with", async () => {
    await bound(`throw "Not you"`)
    const cx = provider.cx()
    const found = idpById(cx, arrivals.idpId)
    if (!found) throw new Error("there is no provider")
    const request = new Request(issuer)
    const browserContext = await browserContextOf(cx, request)
    const seen = { cx, request, browserContext, waiting: undefined }
    const scripted = { orgId: home, userId: "owner", said: identity, metadata: [] }
    const answered = { ...answeredBy(cx, found, answer), scripted }
    const asked = (userId?: string) =>
      Promise.resolve(askedAt(seen, found, { answered, orgId: home, ...(userId && { userId }) }))
    expect(await asked("owner")).toBe(answered)
    for (const other of ["other", undefined]) {
      await expect(asked(other).catch(({ message }) => message)).resolves.toBe("Not you")
    }
  })
})

const identity = {
  externalId: "ada-1",
  userName: "ada",
  givenName: "Ada",
  familyName: "Lovelace",
  displayName: "",
  nickName: "",
  email: ada.email,
  emailVerified: true,
  phone: "",
  phoneVerified: false,
  preferredLanguage: "",
}
const answer = { identity, raw: {}, accessToken: "", idToken: "" }

describe("scripts of somebody's own organisation", () => {
  test("are shown what the provider has said, not what those of another one have", async () => {
    const person = await provider.addPerson("ada", "org2")
    await bound(`api.setFirstName("Grace"); api.setPhone("+41790000000")`)
    await bound(
      `const { human } = v1.externalUser()
      api.v1.user.appendMetadata("shown", [human.firstName, human.phone])`,
      "org2",
    )
    await arrivals.signIn({ ...ada, email: "ada@example.org" })
    expect([arrivals.here(), arrivals.noted("shown")]).toEqual([person, ["Ada", ""]])
  })

  test("are asked when somebody links an account from their own pages", async () => {
    const pat = await provider.addPerson("pat", "org2")
    await bound(`throw "Those of another one"`)
    const unbind = await bound(`throw "Globex links nobody"`, "org2")
    const browser = arrivals.newBrowser()
    await browser.signIn(authorizePath(arrivals.client.id), "pat")
    const come = async () => {
      const { pathname, search } = new URL(startLinking(provider.cx(), pat, arrivals.idpId))
      const there = await browser.go(pathname + search)
      return browser.go(arrivals.upstream.signIn(there.path, ada))
    }
    const kept = await come()
    expect([kept.response.status, kept.page.includes("Globex links nobody")]).toEqual([403, true])
    await unbind()
    const asked = await come()
    await bound(`throw "Globex links nobody"`, "org2")
    expect((await browser.post(asked, {})).response.status).toBe(403)
    expect(linksNow(pat)).toEqual([])
  })

  test.each([
    ["is linked already", true],
    ["is linked as they come", false],
  ])("are not asked of somebody who is locked, and %s", async (_, isLinked) => {
    const person = await provider.addPerson("ada", "org2")
    const claims = { ...ada, email: "ada@example.org" }
    if (isLinked) await arrivals.signIn(claims)
    await bound(`throw "A script was asked"`, "org2")
    await lockUser(provider.cx(), person)
    const end = await arrivals.signIn(claims)
    expect([end.response.status, end.page.includes("A script was asked")]).toEqual([403, false])
    expect(end.page).toContain("locked")
  })
})

describe("an address or a number that is only written otherwise", () => {
  const verified = { phone_number: "+41791112233", phone_number_verified: true }

  test.each([
    [1, "is told so when they come"],
    [2, "is told so before their account is made"],
  ] as const)("stays verified, in flow 1 at %i: it %s", async (triggerType, _) => {
    const body = `api.setEmail("Ada@Example.com"); api.setPhone("+41 79 111 22 33")`
    await bound(body, home, triggerType)
    await arrivals.signIn({ ...ada, ...verified })
    expect(known()).toMatchObject({
      email: "Ada@Example.com",
      emailVerified: true,
      phone: "+41791112233",
      phoneVerified: true,
    })
  })

  test("is the provider's word in other organisations, too", async () => {
    const person = await provider.addPerson("ada", "org2")
    await bound(`api.setEmail(v1.externalUser().human.email.toLowerCase())`)
    await arrivals.signIn({ ...ada, email: "ADA@example.org" })
    expect(arrivals.here()).toBe(person)
  })
})

test("what an older version has kept, without the provider's own words, is over", async () => {
  const cx = provider.cx()
  const found = idpById(cx, arrivals.idpId)
  if (!found) throw new Error("there is no provider")
  const kept = async (scripted: object | undefined) => {
    const answered = JSON.parse(JSON.stringify({ ...answeredBy(cx, found, answer), scripted }))
    const begun = { idpId: found.idp.id, agentId: "b1", requestId: "", creatorId: "" }
    const { id } = await noteAnswered(cx, found, { ...begun, answered })
    return intentOfBrowser(cx, id, "b1")
  }
  const before = { orgId: home, isAddressChanged: true, metadata: [] }
  expect(await kept(before)).toBeUndefined()
  expect(await kept({ orgId: home, userId: "", said: identity, metadata: [] })).toBeDefined()
  expect(await kept(undefined)).toBeDefined()
})
