// The attributes of an assertion follow the application's settings.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest"
import { updateApplication } from "../../src/domain/app/index.ts"
import type { SamlAttributes } from "../../src/domain/app/saml/attributes.ts"
import { addAuthorization } from "../../src/domain/authorization/index.ts"
import { addMember } from "../../src/domain/member/index.ts"
import { createOrganization } from "../../src/domain/org/commands.ts"
import { addRoles } from "../../src/domain/project/index.ts"
import { reactivateUser } from "../../src/domain/user/commands.ts"
import { deactivateUser, setMetadata } from "../../src/domain/user/index.ts"
import { reservedNames } from "../../src/saml/response/attributes.ts"
import { browserOf, type Provider } from "../oauth/provider.ts"
import {
  addServiceProvider,
  messageIn,
  nodeSaml,
  openSamlProvider,
  pathOf,
  postedFields,
} from "./service-provider.ts"

let provider: Provider
let appId = ""
let patId = ""
let ottoId = ""
let kimId = ""
beforeAll(async () => {
  provider = await openSamlProvider()
  appId = await addServiceProvider(provider)
  patId = await provider.addPerson("pat")
  const cx = provider.cx()
  const { projectId, setup } = provider
  await setMetadata(cx, patId, [{ key: "badge", value: Buffer.from("B-17 <é>") }])
  await addRoles(cx, projectId, [
    { key: "admin", displayName: "Admin" },
    { key: "reader", displayName: "Reader" },
  ])
  const given = { userId: patId, projectId, orgId: setup.orgId, roleKeys: ["admin", "reader"] }
  await provider.store.transact(cx, (tx) => addAuthorization(tx, "pats", given))
  await createOrganization(cx, "other", { name: "Other" })
  ottoId = await provider.addPerson("otto", "other")
  kimId = await provider.addPerson("kim")
  const target = { level: "org", id: setup.orgId } as const
  const seat = { target, userId: kimId, roles: ["ORG_OWNER"], orgId: setup.orgId }
  await provider.store.transact(callerAs(setup.ownerId), (tx) => addMember(tx, seat))
})
afterAll(() => provider.close())

const callerAs = (userId: string) =>
  provider.cx({ caller: { kind: "user", userId, orgId: provider.setup.orgId, clientId: "c" } })

const setAttributes = (attributes: Partial<SamlAttributes>, by = provider.setup.ownerId) =>
  updateApplication(callerAs(by), appId, {
    saml: { attributes: { names: "short", roles: "", mappings: [], ...attributes } },
  })
afterEach(() => setAttributes({}))

/** The attributes that node-saml parses, and the assertion. */
async function signInAndRead(userName = "pat") {
  const sp = await nodeSaml(provider)
  const path = pathOf(await sp.getAuthorizeUrlAsync("", "", {}))
  const { page } = await browserOf(provider).signIn(path, userName)
  const { profile } = await sp.validatePostResponseAsync(postedFields(page))
  const attributes = { ...(profile?.attributes as Record<string, unknown>) }
  return { attributes, xml: messageIn(page) }
}

const basicFormat = "urn:oasis:names:tc:SAML:2.0:attrname-format:basic"

describe("the attributes that every assertion has", () => {
  test("have our short names by default", async () => {
    const { attributes } = await signInAndRead()
    expect(attributes).toEqual({
      Email: "pat@example.org",
      SurName: "Person",
      FirstName: "Pat",
      FullName: "Pat Person",
      UserName: "pat",
      UserID: patId,
    })
  })

  test("have LDAP names, which toolkits map", async () => {
    await setAttributes({ names: "oid" })
    const { attributes, xml } = await signInAndRead()
    expect(attributes).toEqual({
      "urn:oid:0.9.2342.19200300.100.1.3": "pat@example.org",
      "urn:oid:2.5.4.4": "Person",
      "urn:oid:2.5.4.42": "Pat",
      "urn:oid:2.16.840.1.113730.3.1.241": "Pat Person",
      "urn:oid:0.9.2342.19200300.100.1.1": "pat",
      UserID: patId,
    })
    expect(xml).toContain(
      '<saml:Attribute FriendlyName="uid" Name="urn:oid:0.9.2342.19200300.100.1.1" ' +
        'NameFormat="urn:oasis:names:tc:SAML:2.0:attrname-format:uri">',
    )
  })

  test("have the names of Microsoft", async () => {
    await setAttributes({ names: "microsoft" })
    const claims = "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/"
    expect((await signInAndRead()).attributes).toMatchObject({
      [`${claims}emailaddress`]: "pat@example.org",
      [`${claims}name`]: "pat",
      "http://schemas.microsoft.com/identity/claims/objectidentifier": patId,
    })
  })
})

describe("names that scripts can't set", () => {
  const uid = "urn:oid:0.9.2342.19200300.100.1.1"
  const taken = (attributes?: Partial<SamlAttributes>) => {
    const usual = { names: "short", roles: "", mappings: [] } as const
    const saml = { metadata: "", entityId: "", metadataUrl: "", loginVersion: { version: "v1" } }
    const kept = { ...saml, ...(attributes && { attributes: { ...usual, ...attributes } }) }
    return reservedNames({ saml: kept } as never)
  }

  test("are ours and the mapped ones, so that existing scripts keep working", () => {
    expect(taken()).toContain("Email")
    expect(taken()).not.toContain(uid)
    expect(taken({ names: "oid" })).toEqual(expect.arrayContaining(["Email", uid]))
    expect(taken({ roles: "groups" })).toContain("groups")
    const source = { kind: "text", text: "x" } as const
    expect(taken({ mappings: [{ name: uid, format: "uri", source }] })).toContain(uid)
  })
})

describe("the attribute of the roles", () => {
  test("has the roles of the project, one value each", async () => {
    await setAttributes({ roles: "groups" })
    const { attributes, xml } = await signInAndRead()
    expect(attributes.groups).toEqual(["admin", "reader"])
    expect(xml).toContain(`Name="groups" NameFormat="${basicFormat}"`)
  })

  test("is absent for users without roles", async () => {
    await setAttributes({ roles: "groups" })
    expect((await signInAndRead("otto")).attributes).not.toHaveProperty("groups")
  })
})

describe("a mapping", () => {
  const mapped = (name: string, source: SamlAttributes["mappings"][number]["source"]) =>
    ({ name, format: "basic", source }) as const
  const badge = mapped("badge", { kind: "metadata", key: "badge" })

  test("maps a field, metadata, or a text, and replaces an equally named attribute", async () => {
    await setAttributes({
      mappings: [
        mapped("uid", { kind: "field", field: "loginName" }),
        mapped("Email", { kind: "text", text: "nobody@example.com" }),
        { ...badge, format: "uri" },
        mapped("absent", { kind: "metadata", key: "nothing" }),
        mapped("org", { kind: "field", field: "organizationName" }),
      ],
    })
    const { attributes, xml } = await signInAndRead()
    expect(attributes).toMatchObject({
      uid: "pat",
      Email: "nobody@example.com",
      badge: "B-17 <é>",
      org: "Example",
    })
    expect(attributes).not.toHaveProperty("absent")
    expect(xml).toContain(
      'Name="badge" NameFormat="urn:oasis:names:tc:SAML:2.0:attrname-format:uri"',
    )
  })

  test("contains only what its administrator can read, and nothing of other users", async () => {
    const secret = [badge, mapped("nick", { kind: "field", field: "preferredLanguage" })]
    await setMetadata(provider.cx(), ottoId, [{ key: "badge", value: Buffer.from("O-1") }])
    await setAttributes({ mappings: secret }, kimId)
    expect((await signInAndRead()).attributes).toMatchObject({ badge: "B-17 <é>" })
    const others = (await signInAndRead("otto")).attributes
    expect(others).toMatchObject({ UserName: "otto" })
    expect(others).not.toHaveProperty("badge")
    expect(others).not.toHaveProperty("nick")
    await setAttributes({ mappings: [badge] })
    expect((await signInAndRead("otto")).attributes).toMatchObject({ badge: "O-1" })
  })

  test("contains no metadata if its administrator can no longer read users", async () => {
    await setAttributes({ mappings: [badge] }, kimId)
    await deactivateUser(provider.cx(), kimId)
    expect((await signInAndRead()).attributes).not.toHaveProperty("badge")
    await reactivateUser(provider.cx(), kimId)
    expect((await signInAndRead()).attributes).toHaveProperty("badge")
    await setAttributes({ mappings: [mapped("pat", badge.source)] }, patId)
    expect((await signInAndRead()).attributes).not.toHaveProperty("pat")
  })

  test.each([
    ["two of one name", { mappings: [badge, badge] }],
    ["the roles' name", { roles: "badge", mappings: [badge] }],
    ["no name", { mappings: [{ ...badge, name: "" }] }],
    ["a blank in the name", { mappings: [{ ...badge, name: "a b" }] }],
    ["an empty text", { mappings: [mapped("x", { kind: "text", text: "" })] }],
    ["51", { mappings: Array.from({ length: 51 }, (_, at) => ({ ...badge, name: `a${at}` })) }],
  ])("is rejected with %s", async (_, attributes) => {
    await expect(setAttributes(attributes)).rejects.toMatchObject({
      id: "app.saml_attributes_invalid",
    })
  })
})
