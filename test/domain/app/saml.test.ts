import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { appChain, findClient } from "../../../src/domain/app/index.ts"
import type { OutboundRequest } from "../../../src/kernel/port/outbound.ts"
import { type Estate, openEstate, type Person } from "../../support/estate.ts"
import { nowhere } from "../../support/outside.ts"

let estate: Estate
beforeEach(async () => {
  estate = await openEstate(["i1", "i2"])
  for (const instance of ["i1", "i2"]) {
    const own = { organizationId: "org1", projectId: "px", name: "Own" }
    await estate.as("manager", "createProject", own, { cx: { instance } })
  }
})
afterEach(() => estate.close())

const post = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST"
const acs = `<md:AssertionConsumerService Binding="${post}" index="0"
  Location="https://sp.example.com/acs"/>`
const sp = (inside = acs, more = "") =>
  `<md:SPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol"${more}>
  ${inside}</md:SPSSODescriptor>`
const entity = (attributes = 'entityID="https://sp.example.com"', inside = sp()) =>
  `<?xml version="1.0"?>
<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" ${attributes}>${inside}
</md:EntityDescriptor>`
const named = (id: string) => entity(`entityID="${id}"`)

const xml = (text: string) => ({ case: "metadataXml", value: Buffer.from(text) })
const url = (value: string) => ({ case: "metadataUrl", value })

type More = { readonly applicationId?: string; readonly instance?: string; readonly as?: Person }

const make = (metadata: object, more: More = {}, cx: object = {}) => {
  const { applicationId = "a1", instance = "i1", as = "manager" } = more
  const applicationType = { case: "samlConfiguration", value: { metadata } }
  const request = { projectId: "px", applicationId, name: "SP", applicationType }
  return estate.as(as, "createApplication", request, { cx: { instance, ...cx } })
}

const change = (metadata: object, cx: object = {}, more: object = {}) => {
  const applicationType = { case: "samlConfiguration", value: { metadata, ...more } }
  const request = { projectId: "px", applicationId: "a1", applicationType }
  return estate.as("manager", "updateApplication", request, { cx })
}

const shown = async () =>
  (await estate.as("manager", "getApplication", { applicationId: "a1" })).application

const refused = (made: () => Promise<unknown>, fault: object) =>
  expect((async () => made())()).rejects.toMatchObject(fault)

const types = async () =>
  (await estate.store.log.read(0, 10_000)).filter(({ id }) => id === "a1").map(({ type }) => type)

/** A world in which one address has an answer. */
function answering(status: number, body: string) {
  const asked: OutboundRequest[] = []
  const send = async (request: OutboundRequest) => {
    asked.push(request)
    return { status, body }
  }
  return { asked, cx: { outside: { ...nowhere, send } } }
}

test("an application of SAML is what its metadata says, to the byte", async () => {
  const text = named("https://sp.example.com")
  expect((await make(xml(text))).applicationType).toMatchObject({ case: "samlConfiguration" })
  const application = await shown()
  expect(application).toMatchObject({ name: "SP", type: 3, state: 1 })
  const { case: kind, value } = application.configuration
  expect([kind, Buffer.from(value.metadataXml).toString(), value.metadataUrl]).toEqual([
    "samlConfiguration",
    text,
    "",
  ])
  expect(await types()).toEqual([
    "project.application.added",
    "project.application.config.saml.added",
  ])
})

test("its attributes and what it enforces are shown as they were set, and stay", async () => {
  await make(xml(named("https://sp.example.com")))
  const settings = async () => {
    const { enforceRequestedContext, attributes } = (await shown()).configuration.value
    return { enforceRequestedContext, attributes }
  }
  expect(await settings()).toMatchObject({
    enforceRequestedContext: false,
    attributes: { names: 1, rolesAttribute: "", mappings: [] },
  })
  const mapping = (name: string, format: number, source: object) => ({ name, format, source })
  const attributes = {
    names: 2,
    rolesAttribute: "groups",
    mappings: [
      mapping("uid", 1, { case: "userField", value: 3 }),
      mapping("urn:badge", 2, { case: "metadataKey", value: "badge" }),
      mapping("tier", 0, { case: "text", value: "gold" }),
    ],
  }
  await change({ case: undefined }, {}, { attributes, enforceRequestedContext: true })
  expect(await settings()).toMatchObject({ enforceRequestedContext: true, attributes })
  await change(xml(named("urn:other")))
  expect(await settings()).toMatchObject({ enforceRequestedContext: true, attributes })
  const sourceless = { ...attributes, mappings: [mapping("x", 1, { case: undefined })] }
  await refused(() => change({ case: undefined }, {}, { attributes: sourceless }), {
    id: "app.saml_attributes_invalid",
  })
})

test("it is found by its type and its entity id, and is no client", async () => {
  await make(xml(named("https://sp.example.com")))
  const found = async (filter: object) => {
    const { applications } = await estate.as("manager", "listApplications", {
      filters: [{ filter }, { filter: { case: "projectIdFilter", value: { projectId: "px" } } }],
    })
    return applications.map((each: { applicationId: string }) => each.applicationId)
  }
  const entityId = (id: string) => ({ case: "entityIdFilter", value: { entityId: id } })
  expect(await found(entityId("https://sp.example.com"))).toEqual(["a1"])
  expect(await found(entityId("https://SP.example.com"))).toEqual([])
  expect(await found({ case: "typeFilter", value: 3 })).toEqual(["a1"])
  expect(await found({ case: "typeFilter", value: 1 })).toEqual([])
  for (const id of ["", "a1", "https://sp.example.com"]) {
    expect(findClient(estate.cx({ instance: "i1" }), id)).toBeUndefined()
  }
  await change(xml(named("urn:other")))
  expect(await found(entityId("https://sp.example.com"))).toEqual([])
  expect(await found(entityId("urn:other"))).toEqual(["a1"])
})

test("an entity id is one application's of an instance, until it changes or goes", async () => {
  const first = xml(named("https://sp.example.com"))
  await make(first)
  await make(first, { instance: "i2" })
  const second = { applicationId: "a2" }
  const taken = { code: "already_exists", id: "app.entity_id_taken" }
  await refused(() => make(first, second), taken)
  await make(xml(named("urn:second")), second)
  await refused(() => change(xml(named("urn:second"))), taken)
  await change(xml(named("urn:first")))
  await make(first, { applicationId: "a3" })
  await estate.as("manager", "deleteApplication", { applicationId: "a2", projectId: "px" })
  await make(xml(named("urn:second")), { applicationId: "a4" })
  await estate.as("manager", "deleteProject", { projectId: "px" })
  const own = { organizationId: "org1", projectId: "py", name: "New" }
  await estate.as("manager", "createProject", own)
  await estate.as("manager", "createApplication", {
    projectId: "py",
    applicationId: "a5",
    name: "SP",
    applicationType: { case: "saml", value: { metadata: xml(named("urn:second")) } },
  })
})

test("who may not change the project makes and changes none", async () => {
  const metadata = xml(named("https://sp.example.com"))
  await refused(() => make(metadata, { as: "stranger" }), { code: "not_found" })
  await refused(() => make(metadata, { as: "nobody" }), { code: "permission_denied" })
  const { asked, cx } = answering(200, entity())
  await refused(() => make(url("https://sp.example.com/md"), { as: "stranger" }, cx), {
    code: "not_found",
  })
  expect(asked).toEqual([])
  await make(metadata, { as: "owner" })
  expect(appChain(estate.cx({ instance: "i2" }), "a1")).toBeUndefined()
})

test("it has no secrets and no keys", async () => {
  await make(xml(entity()))
  const none = { code: "failed_precondition", id: "app.no_client" }
  const named = { applicationId: "a1", projectId: "px" }
  await refused(() => estate.as("manager", "generateClientSecret", named), none)
  await refused(() => estate.as("manager", "createApplicationKey", named), none)
  const { secrets } = await estate.as("manager", "listClientSecrets", named)
  expect(secrets).toEqual([])
})

test("it is renamed, stopped and given another login like any other", async () => {
  await make(xml(entity()))
  await change(xml(entity()))
  await estate.as("manager", "updateApplication", {
    applicationId: "a1",
    projectId: "px",
    name: "Other",
  })
  const loginV2 = (baseUri: string) => ({
    loginVersion: { version: { case: "loginV2", value: { baseUri } } },
  })
  await change({ case: undefined }, {}, loginV2("https://login.example.com"))
  await refused(() => change({ case: undefined }, {}, loginV2("javascript:0")), {
    id: "app.login_version_invalid",
  })
  await estate.as("manager", "deactivateApplication", { applicationId: "a1", projectId: "px" })
  const application = await shown()
  expect(application).toMatchObject({ name: "Other", state: 2 })
  expect(application.configuration.value.loginVersion.version.value.baseUri).toBe(
    "https://login.example.com",
  )
  expect(await types()).toEqual([
    "project.application.added",
    "project.application.config.saml.added",
    "project.application.changed",
    "project.application.config.saml.changed",
    "project.application.deactivated",
  ])
  const asOidc = { applicationType: { case: "oidcConfiguration", value: {} } }
  const wrong = { applicationId: "a1", projectId: "px", ...asOidc }
  await refused(() => estate.as("manager", "updateApplication", wrong), { id: "app.kind_differs" })
})

describe("metadata at an address", () => {
  const address = "https://sp.example.com/metadata"

  test("is fetched once, and again when it is set again", async () => {
    const old = answering(200, entity())
    await make(url(address), {}, old.cx)
    expect(old.asked).toEqual([{ url: address, method: "GET", sizeMax: 500_000 }])
    const { value } = (await shown()).configuration
    expect(value.metadataUrl).toBe(address)
    expect(Buffer.from(value.metadataXml).toString()).toBe(entity())
    await change(url(address), answering(200, entity()).cx)
    expect(await types()).toHaveLength(2)
    await change(url(address), answering(200, named("urn:new")).cx)
    expect(Buffer.from((await shown()).configuration.value.metadataXml).toString()).toContain(
      "urn:new",
    )
    await change(xml(named("urn:new")))
    expect((await shown()).configuration.value.metadataUrl).toBe("")
  })

  test.each([
    ["nothing answers", undefined, "app.metadata_unreachable"],
    ["another status", answering(302, entity()), "app.metadata_unreachable"],
    ["a page", answering(200, "<html/>"), "app.metadata_invalid"],
  ])("is refused where there is %s", async (_, world, id) => {
    await refused(() => make(url(address), {}, world?.cx), { id })
    expect(await types()).toEqual([])
  })

  test.each(["", "/metadata", "file:///etc/passwd", "gopher://sp", "https://sp/#a", "https://ä"])(
    "is never asked of %j",
    async (text) => {
      const { asked, cx } = answering(200, entity())
      await refused(() => make(url(text), {}, cx), { id: "app.metadata_invalid" })
      expect(asked).toEqual([])
    },
  )
})

const withEntity = (subset: string) =>
  `<!DOCTYPE x [${subset}]>${entity().replace('<?xml version="1.0"?>', "")}`
const manyTags = entity('entityID="e"', `${"<a>".repeat(6000)}${"</a>".repeat(6000)}`)
const manyNamespaces = `${Array.from({ length: 300 }, (_, i) => `<a xmlns:p${i}="u">`).join("")}`

test.each([
  ["nothing", ""],
  ["no XML", "metadata"],
  ["what is not closed", entity().replace("</md:EntityDescriptor>", "")],
  ["an attribute twice", entity('entityID="a" entityID="b"')],
  ["an attribute without quotes", entity("entityID=a")],
  ["something behind it", `${entity()}<a/>`],
  ["a DOCTYPE", withEntity('<!ENTITY x "y">')],
  ["an entity from elsewhere", withEntity('<!ENTITY x SYSTEM "file:///etc/passwd">')],
  ["an entity that nobody knows", entity('entityID="&x;"')],
  ["no namespace", entity().replaceAll("md:", "").replace("xmlns:md", "also")],
  ["another namespace", entity().replace("SAML:2.0:metadata", "SAML:1.1:metadata")],
  ["several entities", `<l xmlns="urn:oasis:names:tc:SAML:2.0:metadata">${entity().slice(22)}</l>`],
  ["no entityID", entity("")],
  ["an empty entityID", entity('entityID=""')],
  ["an entityID with a space", entity('entityID="a b"')],
  ["an entityID with a tab", entity('entityID="a&#9;b"')],
  ["an entityID of 1025", named("e".repeat(1025))],
  ["no service provider", entity('entityID="e"', "")],
  [
    "a service provider deep inside",
    entity('entityID="e"', `<md:Extensions>${sp()}</md:Extensions>`),
  ],
  [
    "one of SAML 1.1",
    entity('entityID="e"', sp().replace("SAML:2.0:protocol", "SAML:1.1:protocol")),
  ],
  ["no place for answers", entity('entityID="e"', sp(""))],
  ["a binding that we do not speak", entity('entityID="e"', sp(acs.replace("HTTP-POST", "PAOS")))],
  ["a place without an address", entity('entityID="e"', sp(acs.replace("Location", "Other")))],
  [
    "a script",
    entity('entityID="e"', sp(acs.replace("https://sp.example.com/acs", "javascript:0"))),
  ],
  ["what has expired", entity('entityID="e" validUntil="2001-01-01T00:00:00Z"')],
  ["an expired provider", entity('entityID="e"', sp(acs, ' validUntil="2001-01-01T00:00:00Z"'))],
  ["no time", entity('entityID="e" validUntil="soon"')],
  ["too many tags", manyTags],
  ["too many namespaces", entity('entityID="e"', manyNamespaces)],
  ["too many references", entity('entityID="e"', sp() + "&amp;".repeat(20_000))],
  ["too many hyphens", entity('entityID="e"', `${sp()}<!--${" -".repeat(20_000)} -->`)],
  ["too much", entity('entityID="e"', `${sp()}<!--${" ".repeat(500_000)}-->`)],
])("metadata with %s is refused", async (_, text) => {
  await refused(() => make(xml(text)), { code: "invalid_argument", id: "app.metadata_invalid" })
})

test("metadata that is no UTF-8 is refused, and none at all is asked for", async () => {
  const latin = Buffer.from(named("https://sp.example.com/ä"), "latin1")
  await refused(() => make({ case: "metadataXml", value: latin }), { id: "app.metadata_invalid" })
  await refused(() => make({ case: undefined }), { id: "app.metadata_missing" })
})

test.each([
  ["a byte order mark", `\ufeff${entity()}`],
  ["another prefix", entity().replaceAll("md:", "x:").replace("xmlns:md", "xmlns:x")],
  ["the longest entityID", named("e".repeat(1024))],
  ["time left", entity('entityID="e" validUntil="2999-01-01T00:00:00Z"')],
  ["an organisation and a signature", entity('entityID="e"', `<o:S xmlns:o="urn:o"/>${sp()}`)],
])("metadata with %s is taken", async (_, text) => {
  await make(xml(text))
  expect((await shown()).type).toBe(3)
})
