// Which attributes an assertion has, as the application's settings say.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest"
import { changeApplication } from "../../src/domain/app/index.ts"
import type { SamlAttributes } from "../../src/domain/app/saml/attributes.ts"
import { addAuthorization } from "../../src/domain/authorization/index.ts"
import { addMember } from "../../src/domain/member/index.ts"
import { createOrganization } from "../../src/domain/org/commands.ts"
import { addRoles } from "../../src/domain/project/index.ts"
import { reactivateUser } from "../../src/domain/user/commands.ts"
import { deactivateUser, setMetadata } from "../../src/domain/user/index.ts"
import { takenNames } from "../../src/saml/response/attributes.ts"
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
  await provider.store.transact(author(setup.ownerId), (tx) => addMember(tx, seat))
})
afterAll(() => provider.close())

const author = (userId: string) =>
  provider.cx({ caller: { kind: "user", userId, orgId: provider.setup.orgId, clientId: "c" } })

const set = (attributes: Partial<SamlAttributes>, by = provider.setup.ownerId) =>
  changeApplication(author(by), appId, {
    saml: { attributes: { names: "short", roles: "", mappings: [], ...attributes } },
  })
afterEach(() => set({}))

/** What node-saml reads, and what it read it from. */
async function told(userName = "pat") {
  const sp = await nodeSaml(provider)
  const path = pathOf(await sp.getAuthorizeUrlAsync("", "", {}))
  const { page } = await browserOf(provider).signIn(path, userName)
  const { profile } = await sp.validatePostResponseAsync(postedFields(page))
  const attributes = { ...(profile?.attributes as Record<string, unknown>) }
  return { attributes, xml: messageIn(page) }
}

const basic = "urn:oasis:names:tc:SAML:2.0:attrname-format:basic"

describe("the attributes that every assertion has", () => {
  test("have our short names where nothing else is set", async () => {
    const { attributes } = await told()
    expect(attributes).toEqual({
      Email: "pat@example.org",
      SurName: "Person",
      FirstName: "Pat",
      FullName: "Pat Person",
      UserName: "pat",
      UserID: patId,
    })
  })

  test("have the names of LDAP, by which toolkits map them", async () => {
    await set({ names: "oid" })
    const { attributes, xml } = await told()
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
    await set({ names: "microsoft" })
    const claims = "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/"
    expect((await told()).attributes).toMatchObject({
      [`${claims}emailaddress`]: "pat@example.org",
      [`${claims}name`]: "pat",
      "http://schemas.microsoft.com/identity/claims/objectidentifier": patId,
    })
  })
})

describe("names that scripts can't give", () => {
  const uid = "urn:oid:0.9.2342.19200300.100.1.1"
  const taken = (attributes?: Partial<SamlAttributes>) => {
    const usual = { names: "short", roles: "", mappings: [] } as const
    const saml = { metadata: "", entityId: "", metadataUrl: "", loginVersion: { version: "v1" } }
    const kept = { ...saml, ...(attributes && { attributes: { ...usual, ...attributes } }) }
    return takenNames({ saml: kept } as never)
  }

  test("are ours and what is mapped, so that scripts from before go on", () => {
    expect(taken()).toContain("Email")
    expect(taken()).not.toContain(uid)
    expect(taken({ names: "oid" })).toEqual(expect.arrayContaining(["Email", uid]))
    expect(taken({ roles: "groups" })).toContain("groups")
    const source = { kind: "text", text: "x" } as const
    expect(taken({ mappings: [{ name: uid, format: "uri", source }] })).toContain(uid)
  })
})

describe("the attribute of the roles", () => {
  test("has those of the project, one value for each", async () => {
    await set({ roles: "groups" })
    const { attributes, xml } = await told()
    expect(attributes.groups).toEqual(["admin", "reader"])
    expect(xml).toContain(`Name="groups" NameFormat="${basic}"`)
  })

  test("is not there for who has none", async () => {
    await set({ roles: "groups" })
    expect((await told("otto")).attributes).not.toHaveProperty("groups")
  })
})

describe("a mapping", () => {
  const mapped = (name: string, source: SamlAttributes["mappings"][number]["source"]) =>
    ({ name, format: "basic", source }) as const
  const badge = mapped("badge", { kind: "metadata", key: "badge" })

  test("tells a field, metadata, or a text, and replaces what has its name", async () => {
    await set({
      mappings: [
        mapped("uid", { kind: "field", field: "loginName" }),
        mapped("Email", { kind: "text", text: "nobody@example.com" }),
        { ...badge, format: "uri" },
        mapped("absent", { kind: "metadata", key: "nothing" }),
        mapped("org", { kind: "field", field: "organizationName" }),
      ],
    })
    const { attributes, xml } = await told()
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

  test("tells what its administrator may read, and nothing of other users", async () => {
    const secret = [badge, mapped("nick", { kind: "field", field: "preferredLanguage" })]
    await setMetadata(provider.cx(), ottoId, [{ key: "badge", value: Buffer.from("O-1") }])
    await set({ mappings: secret }, kimId)
    expect((await told()).attributes).toMatchObject({ badge: "B-17 <é>" })
    const others = (await told("otto")).attributes
    expect(others).toMatchObject({ UserName: "otto" })
    expect(others).not.toHaveProperty("badge")
    expect(others).not.toHaveProperty("nick")
    await set({ mappings: [badge] })
    expect((await told("otto")).attributes).toMatchObject({ badge: "O-1" })
  })

  test("tells no metadata where its administrator may read nobody any more", async () => {
    await set({ mappings: [badge] }, kimId)
    await deactivateUser(provider.cx(), kimId)
    expect((await told()).attributes).not.toHaveProperty("badge")
    await reactivateUser(provider.cx(), kimId)
    expect((await told()).attributes).toHaveProperty("badge")
    await set({ mappings: [mapped("pat", badge.source)] }, patId)
    expect((await told()).attributes).not.toHaveProperty("pat")
  })

  test.each([
    ["two of one name", { mappings: [badge, badge] }],
    ["the roles' name", { roles: "badge", mappings: [badge] }],
    ["no name", { mappings: [{ ...badge, name: "" }] }],
    ["a blank in the name", { mappings: [{ ...badge, name: "a b" }] }],
    ["an empty text", { mappings: [mapped("x", { kind: "text", text: "" })] }],
    ["51", { mappings: Array.from({ length: 51 }, (_, at) => ({ ...badge, name: `a${at}` })) }],
  ])("is refused with %s", async (_, attributes) => {
    await expect(set(attributes)).rejects.toMatchObject({ id: "app.saml_attributes_invalid" })
  })
})
