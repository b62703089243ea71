// People sign in by an address or a phone that is theirs, where their organisation lets them.
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

type Contact = { readonly isVerified?: boolean; readonly orgId?: string; readonly email?: string }

async function person(userName: string, contact: Contact = {}): Promise<string> {
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

const found = (text: string) => findByLoginName(provider.cx(), text)

test("by either, however it is spelled, and through the pages", async () => {
  const id = await person("pascal")
  for (const text of [
    "pascal@mail.example",
    " Pascal@Mail.Example ",
    "+41791234567",
    "+41 79 123-45-67",
  ])
    expect(found(text), text).toBe(id)
  const end = await browserOf(provider).signIn("/ui/login", "pascal@mail.example")
  expect(end.path).toBe("/ui/login/signedin")
})

test("not by one that they have not shown to be theirs, or that is not alone theirs", async () => {
  await person("pascal", { isVerified: false })
  expect([found("pascal@mail.example"), found("+41791234567")]).toEqual([undefined, undefined])
  const id = await person("penelope", { email: "shared@mail.example" })
  expect(found("shared@mail.example")).toBe(id)
  await person("peter", { email: "shared@mail.example" })
  expect([found("shared@mail.example"), found("+41791234567")]).toEqual([undefined, undefined])
})

test("a name that looks like an address keeps nobody from their own address", async () => {
  const pascal = await person("pascal", { email: "paula@mail.example" })
  await person("paula@mail.example", { email: "other@mail.example" })
  expect(found("paula@mail.example")).toBe(pascal)
})

test("an address in a domain of an organisation finds its own people alone", async () => {
  const cx = provider.cx()
  await createOrganization(cx, "acme", { name: "Acme" })
  await addDomain(cx, "acme", { domain: "acme.example", isUsed: () => false })
  const pascal = await person("pascal", { email: "pascal@acme.example" })
  // On trust, it is nobody's.
  expect(found("pascal@acme.example")).toBe(pascal)
  await cx.store.transact(cx, (tx) => {
    const data = { domain: "acme.example", isGenerated: true }
    tx.append(org, "acme", [{ type: "org.domain.verified", data }])
  })
  expect(found("pascal@acme.example")).toBeUndefined()
  const id = await person("penelope", { orgId: "acme", email: "penelope@acme.example" })
  expect(found("penelope@acme.example")).toBe(id)
})

describe("where the policy of their organisation wants none of it", () => {
  test.each([
    ["disableLoginWithEmail", "pascal@mail.example", "+41791234567"],
    ["disableLoginWithPhone", "+41791234567", "pascal@mail.example"],
  ] as const)("%s", async (field, refused, taken) => {
    const id = await person("pascal")
    await addPolicy(provider.cx(), provider.setup.orgId, {
      policy: login,
      say: () => ({ ...login.standard, [field]: true }),
    })
    expect([found(refused), found(taken), found("pascal")]).toEqual([undefined, id, id])
  })
})

test("hideLoginNameSuffix leaves out the domain, and who is asked again gets in", async () => {
  const client = await provider.addClient()
  const cx = provider.cx()
  await addDomain(cx, provider.setup.orgId, { domain: "home.example", isUsed: () => false })
  await changePolicy(cx, undefined, {
    policy: domainPolicy,
    say: () => ({ userLoginMustBeDomain: true }),
  })
  await person("pascal")
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
  await changePolicy(cx, undefined, { policy: label, say: () => ({ hideLoginNameSuffix: true }) })
  const hidden = await again()
  expect(hidden.page).not.toContain(long)
  expect(hidden.page).toContain("pascal")
  expect(hidden.end.path).toContain("code=")
})
