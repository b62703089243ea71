// Which organization's scripts run for users from an identity provider, and what they may change.

import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { startLinking } from "../../../src/domain/federation/linking.ts"
import {
  createAnsweredIntent,
  findIdpById,
  findIntentOfBrowser,
  type Options,
  withAuthority,
} from "../../../src/domain/idp/index.ts"
import { setDefaultOrg } from "../../../src/domain/instance/commands.ts"
import { addMember, type Target } from "../../../src/domain/member/index.ts"
import { createOrganization } from "../../../src/domain/org/commands.ts"
import { lockUser } from "../../../src/domain/user/index.ts"
import { findProfile } from "../../../src/domain/user-lookup/query.ts"
import { linksOf } from "../../../src/domain/user-model/links.ts"
import { user } from "../../../src/domain/user-model/model.ts"
import { loadBrowserContext } from "../../../src/login/session.ts"
import { runOrgScripts } from "../../../src/login/sign-in/script.ts"
import {
  authorizePath,
  hiddenFields,
  issuer,
  type Provider,
  password,
  responseOf,
} from "../../oauth/provider.ts"
import { ada, type Browser, type ExternalSignIns, openExternalSignIns } from "./arrivals.ts"
import { bindScripts } from "./bound.ts"

let externalSignIns: ExternalSignIns
let provider: Provider
let homeOrgId: string

/** An instance with two organizations: the one that new users join, and "org2". */
async function open(options: Partial<Options> = {}): Promise<void> {
  externalSignIns = await openExternalSignIns(options)
  provider = externalSignIns.provider
  homeOrgId = provider.setup.orgId
  await createOrganization(provider.cx(), "org2", { name: "Globex" })
}
beforeEach(() => open())
afterEach(() => provider.close())

const bindScript = (body: string, orgId = homeOrgId, triggerType: 1 | 2 = 1) =>
  bindScripts(provider, {
    flowType: 1,
    triggerType,
    orgId,
    scripts: [`function f${triggerType}({ v1 }, api) { ${body} }`],
  })

const giveRole = (userId: string, target: Target, role: string) =>
  provider.store.transact(provider.cx(), (tx) => addMember(tx, { userId, target, roles: [role] }))

const profileOf = (userId = externalSignIns.here()) => findProfile(provider.cx(), userId)
const linksNow = (userId: string) =>
  linksOf(provider.cx().store.state(provider.cx(), user, userId)).map((each) => each.externalId)

describe("a user with more permissions than the authors of scripts", () => {
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
  test.each(cases)(
    "keeps the name and addresses that a script sets: %s",
    async (_, membership, more) => {
      const claims = { ...ada, ...number, ...more }
      await externalSignIns.signIn({ ...ada, ...number })
      if (membership) await giveRole(externalSignIns.here(), ...membership())
      await bindScript(takenOver)
      expect(responseOf(await externalSignIns.signIn(claims))).toHaveProperty("code")
      const said = {
        givenName: "Ada",
        familyName: claims.family_name,
        email: claims.email,
        phone: "+41791112233",
        emailVerified: true,
        phoneVerified: true,
      }
      const made = { givenName: "Mallory", email: "m@evil.example", phone: "+41790000000" }
      expect(profileOf()).toMatchObject(membership ? said : made)
    },
  )
})

describe("the page for new and existing users", () => {
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
  /** The ID of another pending request in the browser. */
  const otherRequest = async (browser: Browser, orgId?: string) =>
    hiddenFields((await browser.go(externalSignIns.begin(orgId))).page).authRequest ?? ""

  type Other = (browser: Browser) => Promise<string> | string
  const cases: readonly (readonly [string, string | undefined, Other])[] = [
    ["of an organization, as for none", "org2", () => ""],
    ["of an organization, as for anybody", "org2", (browser) => otherRequest(browser)],
    ["of anybody, as for an organization", undefined, (browser) => otherRequest(browser, "org2")],
    ["of anybody, as for none", undefined, () => ""],
  ]
  test.each(cases)("is valid for its own sign-in only: %s", async (_, orgId, other) => {
    await bindScript(`api.setEmailVerified(true)`, orgId)
    const browser = externalSignIns.newBrowser()
    const asked = await externalSignIns.signIn(
      { ...ada, email_verified: false },
      { browser, orgId },
    )
    const authRequest = await other(browser)
    const end = await browser.post(asked, { ...create, authRequest })
    expect([end.response.status, end.page.includes("expired")]).toEqual([400, true])
    expect(externalSignIns.here()).toBe("")
    expect(responseOf(await browser.post(asked, create))).toHaveProperty("code")
    expect(profileOf()).toMatchObject({ emailVerified: true })
  })

  test("links nobody past the scripts of the organization", async () => {
    const pat = await provider.addPerson("pat")
    await bindScript(`throw "Nobody comes in that way"`)
    const browser = externalSignIns.newBrowser()
    const asked = await externalSignIns.signIn(ada, { browser, orgId: "org2" })
    const link = { choice: "link", loginName: "pat", password }
    const past = await browser.post(asked, { ...link, authRequest: "" })
    expect([past.response.status, linksNow(pat)]).toEqual([400, []])
    const end = await browser.post(asked, link)
    expect([end.response.status, linksNow(pat)]).toEqual([403, []])
    expect(end.page).toContain("Nobody comes in that way")
  })

  test("creates an account by the scripts of its organization, whichever started the sign-in", async () => {
    await bindScript(`api.setEmailVerified(true); api.setNickName("first")`)
    const browser = externalSignIns.newBrowser()
    const asked = await externalSignIns.signIn({ ...ada, email_verified: false }, { browser })
    await bindScript(`api.setDisplayName("Of Globex")`, "org2")
    await setDefaultOrg(provider.cx(), provider.cx().instance, "org2")
    await browser.post(asked, create)
    expect(profileOf()).toMatchObject({ name: "Of Globex", nickName: "", emailVerified: false })
  })
})

describe("a script never blocks users who can edit it", () => {
  const broken = "undefined.name()"

  test("at a sign-in, but blocks everybody else", async () => {
    await externalSignIns.signIn()
    await bindScript(broken)
    expect((await externalSignIns.signIn()).response.status).toBe(403)
    await giveRole(externalSignIns.here(), { level: "org", id: "org2" }, "ORG_OWNER")
    expect((await externalSignIns.signIn()).response.status).toBe(403)
    await giveRole(externalSignIns.here(), { level: "org", id: homeOrgId }, "ORG_OWNER")
    expect(responseOf(await externalSignIns.signIn())).toHaveProperty("code")
  })

  test("when they are linked at a sign-in", async () => {
    const boss = await provider.addPerson("boss", "org2")
    await giveRole(boss, { level: "org", id: "org2" }, "ORG_OWNER")
    await bindScript(broken, "org2")
    const browser = externalSignIns.newBrowser()
    const asked = await externalSignIns.signIn({ ...ada, family_name: "" }, { browser })
    const link = { choice: "link", loginName: "boss", password }
    expect(responseOf(await browser.post(asked, link))).toHaveProperty("code")
    expect(linksNow(boss)).toEqual(["ada-1"])
  })

  test("but can't be abused to let in other users", async () => {
    await bindScript(`throw "Not you"`)
    const cx = provider.cx()
    const found = findIdpById(cx, externalSignIns.idpId)
    if (!found) throw new Error("no message provider is configured")
    const request = new Request(issuer)
    const browserContext = await loadBrowserContext(cx, request)
    const seen = { cx, request, browserContext, waiting: undefined }
    const scripted = { orgId: homeOrgId, userId: "owner", said: identity, metadata: [] }
    const answered = { ...withAuthority(cx, found, answer), scripted }
    const asked = (userId?: string) =>
      Promise.resolve(
        runOrgScripts(seen, found, { answered, orgId: homeOrgId, ...(userId && { userId }) }),
      )
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

describe("scripts of the user's own organization", () => {
  test("receive the provider's values, not the changes by another organization's scripts", async () => {
    const person = await provider.addPerson("ada", "org2")
    await bindScript(`api.setFirstName("Grace"); api.setPhone("+41790000000")`)
    await bindScript(
      `const { human } = v1.externalUser()
      api.v1.user.appendMetadata("shown", [human.firstName, human.phone])`,
      "org2",
    )
    await externalSignIns.signIn({ ...ada, email: "ada@example.org" })
    expect([externalSignIns.here(), externalSignIns.noted("shown")]).toEqual([person, ["Ada", ""]])
  })

  test("run when users link an account on their own pages", async () => {
    const pat = await provider.addPerson("pat", "org2")
    await bindScript(`throw "Those of another one"`)
    const unbind = await bindScript(`throw "Globex links nobody"`, "org2")
    const browser = externalSignIns.newBrowser()
    await browser.signIn(authorizePath(externalSignIns.client.id), "pat")
    const come = async () => {
      const { pathname, search } = new URL(startLinking(provider.cx(), pat, externalSignIns.idpId))
      const there = await browser.go(pathname + search)
      return browser.go(externalSignIns.upstream.signIn(there.path, ada))
    }
    const kept = await come()
    expect([kept.response.status, kept.page.includes("Globex links nobody")]).toEqual([403, true])
    await unbind()
    const asked = await come()
    await bindScript(`throw "Globex links nobody"`, "org2")
    expect((await browser.post(asked, {})).response.status).toBe(403)
    expect(linksNow(pat)).toEqual([])
  })

  test.each([
    ["is linked already", true],
    ["is linked as they come", false],
  ])("do not run for a locked user, and %s", async (_, isLinked) => {
    const person = await provider.addPerson("ada", "org2")
    const claims = { ...ada, email: "ada@example.org" }
    if (isLinked) await externalSignIns.signIn(claims)
    await bindScript(`throw "A script was asked"`, "org2")
    await lockUser(provider.cx(), person)
    const end = await externalSignIns.signIn(claims)
    expect([end.response.status, end.page.includes("A script was asked")]).toEqual([403, false])
    expect(end.page).toContain("locked")
  })
})

describe("an address or number that differs only in its spelling", () => {
  const verified = { phone_number: "+41791112233", phone_number_verified: true }

  test.each([
    [1, "is told so when they come"],
    [2, "is told so before their account is made"],
  ] as const)("stays verified, in flow 1 at %i: it %s", async (triggerType, _) => {
    const body = `api.setEmail("Ada@Example.com"); api.setPhone("+41 79 111 22 33")`
    await bindScript(body, homeOrgId, triggerType)
    await externalSignIns.signIn({ ...ada, ...verified })
    expect(profileOf()).toMatchObject({
      email: "Ada@Example.com",
      emailVerified: true,
      phone: "+41791112233",
      phoneVerified: true,
    })
  })

  test("is also verified by the provider in other organizations", async () => {
    const person = await provider.addPerson("ada", "org2")
    await bindScript(`api.setEmail(v1.externalUser().human.email.toLowerCase())`)
    await externalSignIns.signIn({ ...ada, email: "ADA@example.org" })
    expect(externalSignIns.here()).toBe(person)
  })
})

test("a sign-in stored by an older version without the provider's values has expired", async () => {
  const cx = provider.cx()
  const found = findIdpById(cx, externalSignIns.idpId)
  if (!found) throw new Error("no message provider is configured")
  const kept = async (scripted: object | undefined) => {
    const answered = JSON.parse(JSON.stringify({ ...withAuthority(cx, found, answer), scripted }))
    const begun = { idpId: found.idp.id, agentId: "b1", requestId: "", creatorId: "" }
    const { id } = await createAnsweredIntent(cx, found, { ...begun, answered })
    return findIntentOfBrowser(cx, id, "b1")
  }
  const before = { orgId: homeOrgId, isAddressChanged: true, metadata: [] }
  expect(await kept(before)).toBeUndefined()
  expect(await kept({ orgId: homeOrgId, userId: "", said: identity, metadata: [] })).toBeDefined()
  expect(await kept(undefined)).toBeDefined()
})
