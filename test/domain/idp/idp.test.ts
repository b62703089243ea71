// Identity providers: who can configure and read them, and where secrets are sent.
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { findIdpById, listActiveIdps, secretOf } from "../../../src/domain/idp/index.ts"
import { removeOrganizationCascade } from "../../../src/domain/org-cascade/index.ts"
import type { Outside } from "../../../src/kernel/port/outbound.ts"
import { type IdpForm, idpForms } from "../../support/idps.ts"
import { unreachableOutside } from "../../support/outside.ts"
import { openTenant, type Tenant } from "../../support/tenant.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant(["i1", "i2"])
})
afterEach(() => estate.close())

const oidc = {
  name: "Acme",
  issuer: "https://idp.example.com",
  clientId: "client",
  clientSecret: "s3cret",
  scopes: ["email"],
}
const callAsOwner = (name: string, request: object, cx = {}) =>
  estate.as("owner", name, request, { of: "admin.v1", cx })
const callAsManager = (
  name: string,
  request: object = {},
  person: "manager" | "stranger" = "manager",
) => estate.as(person, name, request, { of: "management.v1" })
const addOidc = async (more = {}) =>
  (await callAsOwner("addGenericOIDCProvider", { ...oidc, ...more })).id as string

/** The message of a form: base64 values become bytes. */
function bodyOf({ name, body }: IdpForm): object {
  const bytes = (field: string) => Buffer.from(String(body[field] ?? ""), "base64")
  if (name === "Apple") return { ...body, privateKey: bytes("privateKey") }
  if (name !== "SAML") return body
  const metadata = { case: "metadataXml", value: bytes("metadataXml") }
  return { ...body, metadataXml: undefined, metadata }
}

describe("an issuer", () => {
  const stating = (body: string, status = 200): { outside: Outside; asked: string[] } => {
    const asked: string[] = []
    const send: Outside["send"] = async ({ url }) => {
      asked.push(url)
      return { status, body }
    }
    return { asked, outside: { ...unreachableOutside, send } }
  }
  const document = (issuer: unknown) => stating(JSON.stringify({ issuer }))

  test.each([
    ["https://idp.example.com/", "https://idp.example.com"],
    ["https://idp.example.com/realms/a", "https://idp.example.com/realms/a/"],
  ])("that is %s is not saved if its metadata names %s", async (issuer, stated) => {
    const { outside, asked } = document(stated)
    for (const name of ["addGenericOIDCProvider", "addGitLabSelfHostedProvider"]) {
      await expect(callAsOwner(name, { ...oidc, issuer }, { outside })).rejects.toMatchObject({
        id: "idp.issuer_differs",
        message: expect.stringContaining(`must be ${stated}, as`),
      })
    }
    expect(asked[0]).toBe(`${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`)
  })

  test("that changes is checked again, also in part; an unchanged one is not", async () => {
    const id = await addOidc()
    const { outside, asked } = document("https://other.example.com/")
    const { clientSecret: _, ...rest } = oidc
    await callAsOwner("updateGenericOIDCProvider", { ...rest, id, name: "Renamed" }, { outside })
    expect(asked).toEqual([])
    const issuer = "https://other.example.com"
    const changes = [
      { ...rest, id, issuer },
      { id, issuer, updateMask: { paths: ["issuer"] } },
    ]
    for (const change of changes) {
      await expect(
        callAsOwner("updateGenericOIDCProvider", change, { outside }),
      ).rejects.toMatchObject({ id: "idp.issuer_differs" })
    }
  })

  test.each<[string, () => { outside: Outside }]>([
    ["can't be reached yet", () => ({ outside: unreachableOutside })],
    ["answers with an error", () => stating("{}", 503)],
    ["answers with a page", () => stating("<html>")],
    ["states no issuer", () => document(undefined)],
    ["states the same", () => document(oidc.issuer)],
  ])("that %s is saved", async (_, at) => {
    const { id } = await callAsOwner("addGenericOIDCProvider", oidc, { outside: at().outside })
    expect(findIdpById(estate.cx(), id)?.idp.name).toBe("Acme")
  })
})

test("an organization can't change a provider of the instance; the error says how", async () => {
  const body = { name: "GitLab", clientId: "client", clientSecret: "s3cret" }
  const { id } = await callAsOwner("addGitLabProvider", body)
  const message = expect.stringContaining("for GitLab with POST; organizations use PUT")
  const refused = { id: "idp.of_instance", message }
  await expect(callAsManager("updateGitLabProvider", { ...body, id })).rejects.toMatchObject(
    refused,
  )
  await expect(callAsManager("deleteProvider", { id })).rejects.toMatchObject(refused)
  await expect(callAsManager("deleteProvider", { id: "none" })).rejects.toMatchObject({
    id: "idp.missing",
  })
})

describe("a secret", () => {
  test("is never returned, and is stored encrypted", async () => {
    const id = await addOidc()
    const shown = await callAsOwner("getProviderByID", { id })
    expect(JSON.stringify(shown, (_, v) => (typeof v === "bigint" ? `${v}` : v))).not.toContain(
      "s3cret",
    )
    expect(secretOf(estate.cx(), id)).toBe("s3cret")
  })

  test("stays when another resource changes, and goes when it would go elsewhere", async () => {
    const id = await addOidc()
    const { clientSecret: _, ...rest } = oidc
    await callAsOwner("updateGenericOIDCProvider", { ...rest, id, name: "Renamed" })
    expect(secretOf(estate.cx(), id)).toBe("s3cret")
    const elsewhere = { ...rest, id, issuer: "https://evil.example.com" }
    await callAsOwner("updateGenericOIDCProvider", elsewhere)
    expect(secretOf(estate.cx(), id)).toBe("")
  })

  test("is removed with its provider", async () => {
    const id = await addOidc()
    await callAsOwner("deleteProvider", { id })
    expect(secretOf(estate.cx(), id)).toBe("")
    expect(findIdpById(estate.cx(), id)).toBeUndefined()
  })

  test("of Apple is rejected unless it is a key", async () => {
    const apple = { clientId: "a", teamId: "TEAM123456", keyId: "KEY1234567" }
    const privateKey = new TextEncoder().encode("the browser created no key")
    await expect(callAsOwner("addAppleProvider", { ...apple, privateKey })).rejects.toMatchObject({
      id: "idp.field_invalid",
      violation: { field: "private_key" },
    })
  })
})

describe("permissions on providers", () => {
  test("an organization sees its own and those of the instance, and changes its own", async () => {
    const ours = await addOidc()
    const { id: own } = await callAsManager("addGoogleProvider", {
      clientId: "c",
      clientSecret: "s",
    })
    const { id: theirs } = await callAsManager("addGoogleProvider", { clientId: "t" }, "stranger")
    const { result } = await callAsManager("listProviders")
    expect(result.map(({ id }: { id: string }) => id).toSorted()).toEqual([ours, own].toSorted())
    for (const [id, error] of [
      [ours, "idp.of_instance"],
      [theirs, "idp.missing"],
    ]) {
      await expect(callAsManager("deleteProvider", { id })).rejects.toMatchObject({ id: error })
    }
    await expect(callAsManager("getProviderByID", { id: theirs })).rejects.toMatchObject({
      id: "idp.missing",
    })
  })

  test("another instance has none of it", async () => {
    const id = await addOidc()
    expect(findIdpById(estate.cx({ instance: "i2" }), id)).toBeUndefined()
  })

  test("what an organization has set up goes with it", async () => {
    const { id } = await callAsManager("addGoogleProvider", { clientId: "t" }, "stranger")
    await removeOrganizationCascade(estate.cx(), "org2")
    expect(findIdpById(estate.cx(), id)).toBeUndefined()
  })
})

describe("a fresh sign-in at the provider", () => {
  const optionsOf = async (id: string) =>
    (await callAsOwner("getProviderByID", { id })).idp.config.options
  const providerOptions = { acceptAsFresh: true, forwardAcrValues: true }

  test("is off by default and can be set for a provider of the instance", async () => {
    const id = await addOidc()
    expect(await optionsOf(id)).toMatchObject({ acceptAsFresh: false, forwardAcrValues: false })
    await callAsOwner("updateGenericOIDCProvider", { ...oidc, id, providerOptions })
    expect(await optionsOf(id)).toMatchObject(providerOptions)
  })

  test.each(idpForms)("is set with $name by an administrator of the instance", async (form) => {
    const { id } = await callAsOwner(`add${form.name}Provider`, {
      ...bodyOf(form),
      providerOptions,
    })
    expect(await optionsOf(id)).toMatchObject(providerOptions)
  })

  test.each(idpForms)("is rejected for $name of an organization", async (form) => {
    const body = bodyOf(form)
    const refused = { code: "permission_denied", id: "idp.accept_as_fresh_refused" }
    const add = (options: object) =>
      callAsManager(`add${form.name}Provider`, { ...body, providerOptions: options })
    await expect(add(providerOptions)).rejects.toMatchObject(refused)
    const { id } = await add({ forwardAcrValues: true })
    const change = callAsManager(`update${form.name}Provider`, { ...body, id, providerOptions })
    await expect(change).rejects.toMatchObject(refused)
  })
})

describe("automatic account creation", () => {
  const optionsOf = async (id: string) =>
    (await callAsOwner("getProviderByID", { id })).idp.config.options
  const setDomains = (id: string, allowedDomains: string[]) => {
    const { clientSecret: _, ...rest } = oidc
    const providerOptions = { allowedDomains }
    return callAsOwner("updateGenericOIDCProvider", { ...rest, id, providerOptions })
  }

  test("is off by default", async () => {
    expect(await optionsOf(await addOidc())).toMatchObject({
      isCreationAllowed: false,
      isAutoCreation: false,
      allowedDomains: [],
    })
  })

  test.each(idpForms)("is limited to domains with $name, in normalized form", async (form) => {
    const written = ["Example.COM", "bücher.example", "example.com", "XN--bcher-kva.example"]
    const body = { ...bodyOf(form), providerOptions: { allowedDomains: written } }
    const { id } = await callAsManager(`add${form.name}Provider`, body)
    const { idp } = await callAsManager("getProviderByID", { id })
    const stored = ["example.com", "xn--bcher-kva.example"]
    expect(idp.config.options.allowedDomains).toEqual(stored)
    const known = findIdpById(estate.cx(), id)?.idp.options
    expect(known?.allowedDomains).toEqual(stored)
  })

  test("is unlimited again if an update has no domains", async () => {
    const id = await addOidc()
    await setDomains(id, ["example.com"])
    await setDomains(id, [])
    expect(findIdpById(estate.cx(), id)?.idp.options).not.toHaveProperty("allowedDomains")
    await expect(setDomains(id, [])).rejects.toMatchObject({ id: "idp.unchanged" })
  })

  test.each([
    "",
    "com",
    "@example.com",
    "*.example.com",
    "ada@example.com",
    "https://example.com",
    "example.com.",
    "ex%61mple.com",
    "a b.example",
    "-a.example",
    "127.0.0.1",
  ])("rejects the invalid domain %j", async (domain) => {
    const refused = {
      code: "invalid_argument",
      id: "idp.allowed_domains_invalid",
      violation: { field: "provider_options.allowed_domains" },
    }
    const id = await addOidc()
    await expect(setDomains(id, ["example.com", domain])).rejects.toMatchObject(refused)
    expect(await optionsOf(id)).toMatchObject({ allowedDomains: [] })
  })

  test("is limited to 50 domains", async () => {
    const id = await addOidc()
    const domains = Array.from({ length: 51 }, (_, at) => `d${at}.example`)
    await expect(setDomains(id, domains)).rejects.toMatchObject({
      id: "idp.allowed_domains_invalid",
      message: expect.stringContaining("50"),
    })
    await setDomains(id, domains.slice(1))
    expect((await optionsOf(id)).allowedDomains).toHaveLength(50)
  })
})

describe("the providers users can sign in with", () => {
  const offered = (orgId?: string) => listActiveIdps(estate.cx(), orgId).map(({ idp }) => idp.id)

  test("are those linked to the applicable policy", async () => {
    const id = await addOidc()
    expect(offered()).toEqual([])
    await callAsOwner("addIDPToLoginPolicy", { idpId: id })
    expect(offered()).toEqual([id])
    expect(offered("org1")).toEqual([id])
    await callAsManager("addCustomLoginPolicy", {
      allowUsernamePassword: true,
      allowExternalIdp: true,
    })
    expect(offered("org1")).toEqual([])
    const { id: own } = await callAsManager("addGoogleProvider", { clientId: "c" })
    await callAsManager("addIDPToLoginPolicy", { idpId: own, ownerType: 2 })
    await callAsManager("addIDPToLoginPolicy", { idpId: id, ownerType: 1 })
    expect(offered("org1")).toEqual([own, id])
    expect(offered("org2")).toEqual([id])
    await callAsManager("removeIDPFromLoginPolicy", { idpId: id })
    expect(offered("org1")).toEqual([own])
  })

  test("can be set with the policy: those of the organization and the instance", async () => {
    const id = await addOidc()
    const { id: own } = await callAsManager("addGoogleProvider", { clientId: "c" })
    const { id: theirs } = await callAsManager("addGoogleProvider", { clientId: "t" }, "stranger")
    const policy = { allowUsernamePassword: true, allowExternalIdp: true }
    const add = (...ids: string[]) =>
      callAsManager("addCustomLoginPolicy", { ...policy, idps: ids.map((idpId) => ({ idpId })) })
    await expect(add(own, theirs)).rejects.toMatchObject({ id: "idp.missing" })
    expect(offered("org1")).toEqual([])
    await add(own, id, own)
    expect(offered("org1")).toEqual([own, id])
  })

  test("are none if the policy disables them, and exclude deleted ones", async () => {
    const id = await addOidc()
    await callAsOwner("addIDPToLoginPolicy", { idpId: id })
    await callAsManager("addCustomLoginPolicy", { allowUsernamePassword: true })
    await callAsManager("addIDPToLoginPolicy", { idpId: id })
    expect(offered("org1")).toEqual([])
    await callAsOwner("deleteProvider", { id })
    expect(offered()).toEqual([])
  })

  test("never include those of another organization", async () => {
    const { id } = await callAsManager("addGoogleProvider", { clientId: "t" }, "stranger")
    await callAsManager("addCustomLoginPolicy", {
      allowUsernamePassword: true,
      allowExternalIdp: true,
    })
    await expect(callAsManager("addIDPToLoginPolicy", { idpId: id })).rejects.toMatchObject({
      id: "idp.missing",
    })
  })
})

const ldap = {
  name: "Directory",
  servers: ["ldaps://ldap.example.com"],
  baseDn: "dc=example,dc=com",
  bindDn: "cn=admin,dc=example,dc=com",
  bindPassword: "s3cret",
  userBase: "dn",
  userObjectClasses: ["person"],
  userFilters: ["uid", "mail"],
}
const addLdap = async (more = {}) =>
  (await callAsOwner("addLDAPProvider", { ...ldap, ...more })).id as string

describe("a directory", () => {
  test("is returned as configured, without its password", async () => {
    const id = await addLdap({ attributes: { idAttribute: "uid", emailAttribute: "mail" } })
    const { idp } = await callAsOwner("getProviderByID", { id })
    const { bindPassword: _, name, ...shown } = ldap
    const attributes = { idAttribute: "uid", emailAttribute: "mail", phoneAttribute: "" }
    const value = { ...shown, startTls: false, timeout: { seconds: 5n }, attributes }
    expect(idp).toMatchObject({ name, type: 3, config: { config: { case: "ldap", value } } })
    expect(JSON.stringify(idp, (_, v) => (typeof v === "bigint" ? `${v}` : v))).not.toContain(
      "s3cret",
    )
  })

  test("keeps its password when another resource changes, and not for another server", async () => {
    const id = await addLdap()
    const { bindPassword: _, ...rest } = ldap
    await callAsOwner("updateLDAPProvider", { ...rest, id, userFilters: ["cn"] })
    expect(secretOf(estate.cx(), id)).toBe("s3cret")
    await callAsOwner("updateLDAPProvider", { ...rest, id, servers: ["ldaps://evil.example.com"] })
    expect(secretOf(estate.cx(), id)).toBe("")
  })

  test.each([
    ["servers", { servers: [] }],
    ["servers", { servers: ["ldap://ldap.example.com"] }],
    ["servers", { servers: ["https://ldap.example.com"] }],
    ["servers", { servers: ["ldaps://ldap.example.com:70000"] }],
    ["bind_password", { bindPassword: "" }],
    ["user_base", { userBase: "dn)(x=" }],
    ["user_filters", { userFilters: ["uid=*)(x"] }],
    ["user_object_classes", { userObjectClasses: [] }],
    ["timeout", { timeout: { seconds: 31n, nanos: 0 } }],
    ["root_ca", { rootCa: new TextEncoder().encode("no certificate") }],
    ["attributes", { attributes: { idAttribute: "a b" } }],
  ])("with an invalid %s is rejected with an error that names it", async (field, more) => {
    await expect(addLdap(more)).rejects.toMatchObject({ violation: { field } })
  })

  test("allows plain LDAP only with StartTLS or a local server", async () => {
    await addLdap({ servers: ["ldap://ldap.example.com"], startTls: true })
    await addLdap({ servers: ["ldap://localhost:3890"] })
  })
})

test.each([
  ["issuer", { issuer: "http://idp.example.com" }],
  ["issuer", { issuer: "https://idp.example.com?x=1" }],
  ["issuer", { issuer: "https://user:word@idp.example.com" }],
  ["client_id", { clientId: "" }],
  ["scopes", { scopes: ["two words"] }],
  ["name", { name: "" }],
])("rejects an invalid %s and names it", async (field, more) => {
  await expect(addOidc(more)).rejects.toMatchObject({ violation: { field } })
})
