// The user's own organization decides the sign-in methods, wherever the sign-in starts.
import { afterEach, beforeEach, expect, test } from "vitest"
import { createIdp, linkIdp } from "../../src/domain/idp/commands.ts"
import type { Options } from "../../src/domain/idp/index.ts"
import type { Settings } from "../../src/domain/idp/model.ts"
import { addMember } from "../../src/domain/member/index.ts"
import { addOrganization } from "../../src/domain/org/index.ts"
import { addPolicy } from "../../src/domain/policy/commands.ts"
import { login } from "../../src/domain/policy/index.ts"
import { addUser } from "../../src/domain/user/index.ts"
import { findByLoginName } from "../../src/domain/user-lookup/find-name.ts"
import { linksOf } from "../../src/domain/user-model/links.ts"
import { user } from "../../src/domain/user-model/model.ts"
import type { Fault } from "../../src/kernel/fault.ts"
import {
  authorizePath,
  browserOf,
  type NewClient,
  openProvider,
  type Provider,
  password,
  responseOf,
  type VisitedPage,
} from "../oauth/provider.ts"
import { callerOf } from "../support/test-environment.ts"
import { openUpstream, type Upstream, upstreamIssuer } from "../support/upstream.ts"

const options: Options = {
  isLinkingAllowed: true,
  isCreationAllowed: true,
  isAutoCreation: true,
  isAutoUpdate: false,
  autoLinking: "email",
  isTrustedForAddresses: true,
}
const settings: Settings = {
  kind: "oidc",
  issuer: upstreamIssuer,
  clientId: "client",
  scopes: [],
  isIdTokenMapping: false,
  usePkce: true,
}

let provider: Provider
let client: NewClient
let upstream: Upstream
let ada: string
let idpId: string
beforeEach(async () => {
  provider = await openProvider()
  client = await provider.addClient()
  upstream = await openUpstream()
  ada = await provider.addPerson("ada")
  idpId = (await createIdp(provider.cx(), undefined, { name: "Acme", settings, options })).id
  await linkIdp(provider.cx(), undefined, idpId)
})
afterEach(() => provider.close())

async function signInThroughProvider(
  claims: object,
  browser = newBrowser(),
  scope = "openid",
): Promise<VisitedPage> {
  const first = await browser.go(authorizePath(client.id, { scope }))
  const href = /href="([^"]*externalidp[^"]*)"/.exec(first.page)?.[1] ?? ""
  const there = await browser.go(href.replaceAll("&amp;", "&"))
  return browser.go(upstream.signIn(there.path, { sub: "ada-1", name: "Ada", ...claims }))
}
const newBrowser = () =>
  browserOf({
    send: (path, init) => provider.send(path, init, { outside: upstream.outside }),
  })
const links = () => linksOf(provider.cx().store.state(provider.cx(), user, ada)).length
const verifiedClaims = { email: "ada@example.org", email_verified: true }
const setLoginPolicy = (values: object) =>
  addPolicy(provider.cx(), provider.setup.orgId, { policy: login, apply: () => values })

test.each([
  ["which takes nobody by a provider", { allowExternalIdp: false }],
  ["which offers this one no more", { allowExternalIdp: true }],
])("a linked user can't sign in to an organization %s", async (_, values) => {
  expect(responseOf(await signInThroughProvider(verifiedClaims))).toHaveProperty("code")
  await setLoginPolicy(values)
  const end = await signInThroughProvider(verifiedClaims)
  expect([
    end.response.status,
    end.page.includes("doesn&#x27;t have permission to do this"),
  ]).toEqual([403, true])
})

test("a session from the provider needs another method for the next application", async () => {
  const browser = newBrowser()
  expect(responseOf(await signInThroughProvider(verifiedClaims, browser))).toHaveProperty("code")
  const silent = authorizePath(client.id, { prompt: "none" })
  expect(responseOf(await browser.go(silent))).toHaveProperty("code")
  await setLoginPolicy({ allowExternalIdp: false })
  expect(responseOf(await browser.go(silent)).error).toBe("login_required")
  const { page } = await browser.go(authorizePath(client.id))
  expect(page).toContain("current-password")
  // For a known user it is clear that this provider can't be used.
  expect(page).not.toContain("Sign in with Acme")
})

test("a linked user signs in if the organization offers the provider itself", async () => {
  await signInThroughProvider(verifiedClaims)
  await setLoginPolicy({ allowExternalIdp: true })
  await linkIdp(provider.cx(), provider.setup.orgId, idpId)
  expect(responseOf(await signInThroughProvider(verifiedClaims))).toHaveProperty("code")
})

test("no account is linked there by address", async () => {
  await setLoginPolicy({ allowExternalIdp: false })
  await signInThroughProvider(verifiedClaims)
  expect(links()).toBe(0)
})

test("a user is found by address although others elsewhere have entered it", async () => {
  const cx = provider.cx()
  await provider.store.transact(cx, (tx) => {
    addOrganization(tx, "closed", { name: "Closed" })
    for (const userName of ["one", "two", "three"]) {
      addUser(tx, cx.ids.next(), {
        kind: "human",
        orgId: "closed",
        userName,
        profile: { givenName: "Not", familyName: "Bea" },
        email: { value: "bea@example.org", verified: false },
      })
    }
  })
  await addPolicy(cx, "closed", { policy: login, apply: () => ({ allowExternalIdp: false }) })
  const bea = await provider.addPerson("bea")
  const end = await signInThroughProvider({
    sub: "bea-1",
    email: "bea@example.org",
    email_verified: true,
  })
  expect(responseOf(end)).toHaveProperty("code")
  expect(linksOf(cx.store.state(cx, user, bea))).toHaveLength(1)
})

test("no account is created there", async () => {
  await setLoginPolicy({ allowExternalIdp: false })
  const end = await signInThroughProvider({
    sub: "new-1",
    email: "new@example.org",
    given_name: "New",
  })
  expect([end.response.status, end.page.includes("I&#x27;m new here")]).toEqual([200, false])
  const whole = { email: "new@example.org", given_name: "New", family_name: "Person" }
  await signInThroughProvider({ sub: "new-1", ...whole })
  expect(findByLoginName(provider.cx(), "new@example.org")).toBeUndefined()
})

test("no account is linked there by password", async () => {
  await setLoginPolicy({ allowExternalIdp: false })
  const browser = newBrowser()
  const asked = await signInThroughProvider({ email: "other@example.org" }, browser)
  await browser.post(asked, { choice: "link", loginName: "ada", password })
  expect(links()).toBe(0)
})

test("a user linked by an organization's provider is promoted once confirmed", async () => {
  const { orgId } = provider.setup
  const eve = await provider.addPerson("eve")
  await setLoginPolicy({ allowExternalIdp: true })
  const { id } = await createIdp(provider.cx({ caller: callerOf(eve, orgId) }), orgId, {
    name: "Eve's",
    settings,
    options: { ...options, isTrustedForAddresses: false },
  })
  await linkIdp(provider.cx(), orgId, id)
  const home = `openid urn:core:iam:org:id:${orgId}`
  expect(
    responseOf(await signInThroughProvider(verifiedClaims, newBrowser(), home)),
  ).toHaveProperty("code")
  expect(links()).toBe(1)
  const admin = { target: { level: "instance" }, userId: ada, roles: ["IAM_OWNER"] } as const
  const promote = (confirmed: readonly string[]) =>
    provider.store.transact(provider.cx(), (tx) => addMember(tx, { ...admin, confirmed }))
  const refused: Fault = await promote([]).then(
    () => Promise.reject(new Error("nothing had to be confirmed")),
    (cause) => cause,
  )
  const listed = refused.preconditions ?? []
  expect(listed.map(({ type }) => type)).toEqual(["provider_link"])
  expect(listed[0]?.description).toContain(`the user ${eve} could sign in as this user`)
  await promote(listed.map(({ subject }) => subject))
  const end = await signInThroughProvider(verifiedClaims, newBrowser(), home)
  expect([
    end.response.status,
    end.page.includes("doesn&#x27;t have permission to do this"),
  ]).toEqual([403, true])
})
