// Users sign in with a verified address or phone number if their organization allows it.
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { createPassword } from "../../src/domain/credential/commands.ts"
import { createOrganization } from "../../src/domain/org/commands.ts"
import { addDomain } from "../../src/domain/org/domain.ts"
import { org } from "../../src/domain/org/index.ts"
import { addPolicy, changePolicy } from "../../src/domain/policy/commands.ts"
import { domainPolicy, label, login } from "../../src/domain/policy/index.ts"
import { createUser } from "../../src/domain/user/create.ts"
import { findByLoginName } from "../../src/domain/user-lookup/find-name.ts"
import {
  authorizePath,
  browserOf,
  openProvider,
  type Provider,
  password,
} from "../oauth/provider.ts"

let provider: Provider
beforeEach(async () => {
  provider = await openProvider()
})
afterEach(() => provider.close())

type ContactInput = {
  readonly isVerified?: boolean
  readonly orgId?: string
  readonly email?: string
}

async function addUser(userName: string, contact: ContactInput = {}): Promise<string> {
  const cx = provider.cx()
  const { isVerified = true, orgId = provider.setup.orgId } = contact
  const { email = `${userName}@mail.example` } = contact
  const id = cx.ids.next()
  await createUser(cx, id, {
    kind: "human",
    orgId,
    userName,
    profile: { givenName: "Pat", familyName: "Person" },
    email: { value: email, verified: isVerified },
    phone: { value: "+41 79 123 45 67", verified: isVerified },
    password: await createPassword(password, { names: [userName] }),
  })
  return id
}

const findUserId = (text: string) => findByLoginName(provider.cx(), text)

test("works with either, however it is spelled, and through the pages", async () => {
  const id = await addUser("pascal")
  for (const text of [
    "pascal@mail.example",
    " Pascal@Mail.Example ",
    "+41791234567",
    "+41 79 123-45-67",
  ])
    expect(findUserId(text), text).toBe(id)
  const end = await browserOf(provider).signIn("/ui/login", "pascal@mail.example")
  expect(end.path).toBe("/ui/login/signedin")
})

test("requires a verified address that is unique", async () => {
  await addUser("pascal", { isVerified: false })
  expect([findUserId("pascal@mail.example"), findUserId("+41791234567")]).toEqual([
    undefined,
    undefined,
  ])
  const id = await addUser("penelope", { email: "shared@mail.example" })
  expect(findUserId("shared@mail.example")).toBe(id)
  await addUser("peter", { email: "shared@mail.example" })
  expect([findUserId("shared@mail.example"), findUserId("+41791234567")]).toEqual([
    undefined,
    undefined,
  ])
})

test("a login name that looks like an address doesn't block the address's owner", async () => {
  const pascal = await addUser("pascal", { email: "paula@mail.example" })
  await addUser("paula@mail.example", { email: "other@mail.example" })
  expect(findUserId("paula@mail.example")).toBe(pascal)
})

test("an address in an organization's domain matches only its own users", async () => {
  const cx = provider.cx()
  await createOrganization(cx, "acme", { name: "Acme" })
  await addDomain(cx, "acme", { domain: "acme.example", isUsed: () => false })
  const pascal = await addUser("pascal", { email: "pascal@acme.example" })
  // The domain is not verified, so no address in it matches.
  expect(findUserId("pascal@acme.example")).toBe(pascal)
  await cx.store.transact(cx, (tx) => {
    const data = { domain: "acme.example", isGenerated: true }
    tx.append(org, "acme", [{ type: "org.domain.verified", data }])
  })
  expect(findUserId("pascal@acme.example")).toBeUndefined()
  const id = await addUser("penelope", { orgId: "acme", email: "penelope@acme.example" })
  expect(findUserId("penelope@acme.example")).toBe(id)
})

describe("if the organization's policy disables it", () => {
  test.each([
    ["disableLoginWithEmail", "pascal@mail.example", "+41791234567"],
    ["disableLoginWithPhone", "+41791234567", "pascal@mail.example"],
  ] as const)("%s", async (field, refused, taken) => {
    const id = await addUser("pascal")
    await addPolicy(provider.cx(), provider.setup.orgId, {
      policy: login,
      apply: () => ({ ...login.standard, [field]: true }),
    })
    expect([findUserId(refused), findUserId(taken), findUserId("pascal")]).toEqual([
      undefined,
      id,
      id,
    ])
  })
})

test("hideLoginNameSuffix hides the domain, and the user can sign in again", async () => {
  const client = await provider.addClient()
  const cx = provider.cx()
  await addDomain(cx, provider.setup.orgId, { domain: "home.example", isUsed: () => false })
  await changePolicy(cx, undefined, {
    policy: domainPolicy,
    apply: () => ({ userLoginMustBeDomain: true }),
  })
  await addUser("pascal")
  const { primaryDomain = "" } = provider.store.state(cx, org, provider.setup.orgId)
  const long = `pascal@${primaryDomain}`
  const again = async () => {
    const browser = browserOf(provider)
    await browser.signIn("/ui/login", long)
    provider.clock.advance(1000)
    const asked = await browser.go(authorizePath(client.id, { prompt: "login" }))
    expect(asked.path).toContain("/ui/login/password")
    provider.clock.advance(1000)
    const end = await browser.post(asked, {
      loginName: /name="loginName"[^>]*value="([^"]*)"/.exec(asked.page)?.[1] ?? "",
      password,
    })
    return { page: asked.page.replaceAll(/value="[^"]*"/g, ""), end }
  }
  const shown = await again()
  expect(shown.page).toContain(long)
  expect(shown.end.path).toContain("code=")
  await changePolicy(cx, undefined, { policy: label, apply: () => ({ hideLoginNameSuffix: true }) })
  const hidden = await again()
  expect(hidden.page).not.toContain(long)
  expect(hidden.page).toContain("pascal")
  expect(hidden.end.path).toContain("code=")
})
