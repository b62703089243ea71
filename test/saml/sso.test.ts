import { ValidateInResponseTo } from "@node-saml/node-saml"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { createPassword } from "../../src/domain/credential/commands.ts"
import { createOrganization } from "../../src/domain/org/commands.ts"
import { createUser } from "../../src/domain/user/create.ts"
import { browserOf, type Provider, password } from "../oauth/provider.ts"
import {
  acsUrl,
  addServiceProvider,
  createKey,
  messageIn,
  nodeSaml,
  openSamlProvider,
  pathOf,
  postedFields,
  spId,
} from "./service-provider.ts"

let provider: Provider
beforeAll(async () => {
  provider = await openSamlProvider()
  await addServiceProvider(provider)
  await provider.addPerson("pat")
})
afterAll(() => provider.close())

describe("a third-party service provider", () => {
  test("signs a user in by redirect, and accepts the response", async () => {
    const sp = await nodeSaml(provider, { validateInResponseTo: ValidateInResponseTo.always })
    const browser = browserOf(provider)
    const at = await browser.signIn(pathOf(await sp.getAuthorizeUrlAsync("state 1", "", {})), "pat")
    expect(at.page).toContain(acsUrl)
    const fields = postedFields(at.page)
    expect(fields.RelayState).toBe("state 1")
    const { profile } = await sp.validatePostResponseAsync(fields)
    expect(profile).toMatchObject({
      Email: "pat@example.org",
      SurName: "Person",
      FirstName: "Pat",
      UserName: "pat",
    })
    expect(profile?.nameID).toBe(profile?.UserID)
  })

  test("receives no address that only another organization has verified", async () => {
    const boss = { kind: "user", userId: "boss", orgId: "other", clientId: "console" } as const
    await createOrganization(provider.cx(), "other", { name: "Other" })
    await createUser(provider.cx({ caller: boss }), "prepared", {
      kind: "human",
      orgId: "other",
      userName: "prepared",
      profile: { givenName: "C", familyName: "Eo" },
      email: { value: "ceo@corp.test", verified: true },
      password: await createPassword(password, { names: [] }),
    })
    const sp = await nodeSaml(provider)
    const browser = browserOf(provider)
    const at = await browser.signIn(pathOf(await sp.getAuthorizeUrlAsync("", "", {})), "prepared")
    const { profile } = await sp.validatePostResponseAsync(postedFields(at.page))
    expect(profile).toMatchObject({ UserID: "prepared" })
    expect(profile?.Email).toBeUndefined()
  })

  test("gets an immediate response for a signed-in user, and by POST", async () => {
    const sp = await nodeSaml(provider)
    const browser = browserOf(provider)
    await browser.signIn(pathOf(await sp.getAuthorizeUrlAsync("", "", {})), "pat")
    const again = await browser.go(pathOf(await sp.getAuthorizeUrlAsync("", "", {})))
    const first = await sp.validatePostResponseAsync(postedFields(again.page))
    const byPost = await nodeSaml(provider, { skipRequestCompression: true })
    const form = await byPost.getAuthorizeFormAsync("s2")
    const posted = await browser.go("/saml/v2/SSO", {
      method: "POST",
      body: new URLSearchParams(postedFields(form)),
    })
    const second = await sp.validatePostResponseAsync(postedFields(posted.page))
    expect(second.profile?.nameID).toBe(first.profile?.nameID)
    expect(postedFields(posted.page).RelayState).toBe("s2")
  })

  test("can sign requests, in both bindings", async () => {
    const key = await createKey()
    const entityId = "https://signing.example.com"
    await addServiceProvider(provider, { entityId, signing: key.certificate, signsRequests: true })
    const signing = {
      issuer: entityId,
      audience: entityId,
      privateKey: key.privatePem,
      ...({ signatureAlgorithm: "sha256", digestAlgorithm: "sha256" } as const),
    }
    const sp = await nodeSaml(provider, signing)
    const browser = browserOf(provider)
    const at = await browser.signIn(pathOf(await sp.getAuthorizeUrlAsync("a=b", "", {})), "pat")
    await sp.validatePostResponseAsync(postedFields(at.page))
    const byPost = await nodeSaml(provider, { ...signing, skipRequestCompression: true })
    const form = await byPost.getAuthorizeFormAsync("")
    const body = new URLSearchParams(postedFields(form))
    const posted = await browser.go("/saml/v2/SSO", { method: "POST", body })
    await sp.validatePostResponseAsync(postedFields(posted.page))
    const unsigned = await nodeSaml(provider, { issuer: entityId })
    const refused = await browser.go(pathOf(await unsigned.getAuthorizeUrlAsync("", "", {})))
    expect(refused.response.status).toBe(400)
    expect(refused.page).toContain("the registered metadata requires signed requests")
  })

  test.each([
    undefined,
    "http://www.w3.org/2009/xmlenc11#aes128-gcm",
    "http://www.w3.org/2001/04/xmlenc#aes256-cbc",
    "http://www.w3.org/2001/04/xmlenc#aes128-cbc",
  ])("decrypts its assertion (%s)", async (encryptionMethod) => {
    const key = await createKey()
    const entityId = `https://encrypted.example.com/${encryptionMethod?.split("#")[1] ?? ""}`
    const encryption = key.certificate
    await addServiceProvider(provider, {
      entityId,
      encryption,
      ...(encryptionMethod && { encryptionMethod }),
    })
    const sp = await nodeSaml(provider, {
      issuer: entityId,
      audience: entityId,
      decryptionPvk: key.privatePem,
    })
    const browser = browserOf(provider)
    const at = await browser.signIn(pathOf(await sp.getAuthorizeUrlAsync("", "", {})), "pat")
    expect(messageIn(at.page)).not.toContain("pat@example.org")
    const { profile } = await sp.validatePostResponseAsync(postedFields(at.page))
    expect(profile?.Email).toBe("pat@example.org")
  })

  test("supports sign-in started here", async () => {
    const sp = await nodeSaml(provider)
    const browser = browserOf(provider)
    const query = new URLSearchParams({ providerId: spId, target: "/start" })
    const at = await browser.signIn(`/saml/v2/SSO?${query}`, "pat")
    const fields = postedFields(at.page)
    expect(fields.RelayState).toBe("/start")
    expect(messageIn(at.page)).not.toContain("InResponseTo")
    await sp.validatePostResponseAsync(fields)
  })
})
