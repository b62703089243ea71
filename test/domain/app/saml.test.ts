import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { appChain, findClient } from "../../../src/domain/app/index.ts"
import type { OutboundRequest } from "../../../src/kernel/port/outbound.ts"
import { unreachableOutside } from "../../support/outside.ts"
import { openTenant, type Tenant, type TenantUser } from "../../support/tenant.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant(["i1", "i2"])
  for (const instance of ["i1", "i2"]) {
    const own = { organizationId: "org1", projectId: "px", name: "Own" }
    await estate.as("manager", "createProject", own, { cx: { instance } })
  }
})
afterEach(() => estate.close())

const post = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST"
const acs = `<md:AssertionConsumerService Binding="${post}" index="0"
  Location="https://sp.example.com/acs"/>`
const spDescriptor = (inside = acs, more = "") =>
  `<md:SPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol"${more}>
  ${inside}</md:SPSSODescriptor>`
const entity = (attributes = 'entityID="https://sp.example.com"', inside = spDescriptor()) =>
  `<?xml version="1.0"?>
<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" ${attributes}>${inside}
</md:EntityDescriptor>`
const entityNamed = (id: string) => entity(`entityID="${id}"`)

const xml = (text: string) => ({ case: "metadataXml", value: Buffer.from(text) })
const url = (value: string) => ({ case: "metadataUrl", value })

type ApplicationOptions = {
  readonly applicationId?: string
  readonly instance?: string
  readonly as?: TenantUser
}

const createSamlApplication = (
  metadata: object,
  more: ApplicationOptions = {},
  cx: object = {},
) => {
  const { applicationId = "a1", instance = "i1", as = "manager" } = more
  const applicationType = { case: "samlConfiguration", value: { metadata } }
  const request = { projectId: "px", applicationId, name: "SP", applicationType }
  return estate.as(as, "createApplication", request, { cx: { instance, ...cx } })
}

const updateSamlApplication = (metadata: object, cx: object = {}, more: object = {}) => {
  const applicationType = { case: "samlConfiguration", value: { metadata, ...more } }
  const request = { projectId: "px", applicationId: "a1", applicationType }
  return estate.as("manager", "updateApplication", request, { cx })
}

const getApplication = async () =>
  (await estate.as("manager", "getApplication", { applicationId: "a1" })).application

const expectFault = (created: () => Promise<unknown>, fault: object) =>
  expect((async () => created())()).rejects.toMatchObject(fault)

const eventTypes = async () =>
  (await estate.store.log.read(0, 10_000)).filter(({ id }) => id === "a1").map(({ type }) => type)

/** An outside world in which one address responds. */
function outsideWith(status: number, body: string) {
  const asked: OutboundRequest[] = []
  const send = async (request: OutboundRequest) => {
    asked.push(request)
    return { status, body }
  }
  return { asked, cx: { outside: { ...unreachableOutside, send } } }
}

test("a SAML application stores its metadata byte by byte", async () => {
  const text = entityNamed("https://sp.example.com")
  expect((await createSamlApplication(xml(text))).applicationType).toMatchObject({
    case: "samlConfiguration",
  })
  const application = await getApplication()
  expect(application).toMatchObject({ name: "SP", type: 3, state: 1 })
  const { case: kind, value } = application.configuration
  expect([kind, Buffer.from(value.metadataXml).toString(), value.metadataUrl]).toEqual([
    "samlConfiguration",
    text,
    "",
  ])
  expect(await eventTypes()).toEqual([
    "project.application.added",
    "project.application.config.saml.added",
  ])
})

test("its attributes and settings are returned as set, and stay", async () => {
  await createSamlApplication(xml(entityNamed("https://sp.example.com")))
  const settings = async () => {
    const { enforceRequestedContext, attributes } = (await getApplication()).configuration.value
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
  await updateSamlApplication(
    { case: undefined },
    {},
    { attributes, enforceRequestedContext: true },
  )
  expect(await settings()).toMatchObject({ enforceRequestedContext: true, attributes })
  await updateSamlApplication(xml(entityNamed("urn:other")))
  expect(await settings()).toMatchObject({ enforceRequestedContext: true, attributes })
  const sourceless = { ...attributes, mappings: [mapping("x", 1, { case: undefined })] }
  await expectFault(
    () => updateSamlApplication({ case: undefined }, {}, { attributes: sourceless }),
    {
      id: "app.saml_attributes_invalid",
    },
  )
})

test("it is found by its type and entity ID, and is not a client", async () => {
  await createSamlApplication(xml(entityNamed("https://sp.example.com")))
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
  await updateSamlApplication(xml(entityNamed("urn:other")))
  expect(await found(entityId("https://sp.example.com"))).toEqual([])
  expect(await found(entityId("urn:other"))).toEqual(["a1"])
})

test("an entity ID belongs to one application of an instance until it is changed or removed", async () => {
  const first = xml(entityNamed("https://sp.example.com"))
  await createSamlApplication(first)
  await createSamlApplication(first, { instance: "i2" })
  const second = { applicationId: "a2" }
  const taken = { code: "already_exists", id: "app.entity_id_taken" }
  await expectFault(() => createSamlApplication(first, second), taken)
  await createSamlApplication(xml(entityNamed("urn:second")), second)
  await expectFault(() => updateSamlApplication(xml(entityNamed("urn:second"))), taken)
  await updateSamlApplication(xml(entityNamed("urn:first")))
  await createSamlApplication(first, { applicationId: "a3" })
  await estate.as("manager", "deleteApplication", { applicationId: "a2", projectId: "px" })
  await createSamlApplication(xml(entityNamed("urn:second")), { applicationId: "a4" })
  await estate.as("manager", "deleteProject", { projectId: "px" })
  const own = { organizationId: "org1", projectId: "py", name: "New" }
  await estate.as("manager", "createProject", own)
  await estate.as("manager", "createApplication", {
    projectId: "py",
    applicationId: "a5",
    name: "SP",
    applicationType: { case: "saml", value: { metadata: xml(entityNamed("urn:second")) } },
  })
})

test("rejects creation and changes by callers who can't change the project", async () => {
  const metadata = xml(entityNamed("https://sp.example.com"))
  await expectFault(() => createSamlApplication(metadata, { as: "stranger" }), {
    code: "not_found",
  })
  await expectFault(() => createSamlApplication(metadata, { as: "nobody" }), {
    code: "permission_denied",
  })
  const { asked, cx } = outsideWith(200, entity())
  await expectFault(
    () => createSamlApplication(url("https://sp.example.com/md"), { as: "stranger" }, cx),
    {
      code: "not_found",
    },
  )
  expect(asked).toEqual([])
  await createSamlApplication(metadata, { as: "owner" })
  expect(appChain(estate.cx({ instance: "i2" }), "a1")).toBeUndefined()
})

test("it has no secrets and no keys", async () => {
  await createSamlApplication(xml(entity()))
  const none = { code: "failed_precondition", id: "app.no_client" }
  const named = { applicationId: "a1", projectId: "px" }
  await expectFault(() => estate.as("manager", "generateClientSecret", named), none)
  await expectFault(() => estate.as("manager", "createApplicationKey", named), none)
  const { secrets } = await estate.as("manager", "listClientSecrets", named)
  expect(secrets).toEqual([])
})

test("it can be renamed, deactivated, and given another login like any other", async () => {
  await createSamlApplication(xml(entity()))
  await updateSamlApplication(xml(entity()))
  await estate.as("manager", "updateApplication", {
    applicationId: "a1",
    projectId: "px",
    name: "Other",
  })
  const loginV2 = (baseUri: string) => ({
    loginVersion: { version: { case: "loginV2", value: { baseUri } } },
  })
  await updateSamlApplication({ case: undefined }, {}, loginV2("https://login.example.com"))
  await expectFault(() => updateSamlApplication({ case: undefined }, {}, loginV2("javascript:0")), {
    id: "app.login_version_invalid",
  })
  await estate.as("manager", "deactivateApplication", { applicationId: "a1", projectId: "px" })
  const application = await getApplication()
  expect(application).toMatchObject({ name: "Other", state: 2 })
  expect(application.configuration.value.loginVersion.version.value.baseUri).toBe(
    "https://login.example.com",
  )
  expect(await eventTypes()).toEqual([
    "project.application.added",
    "project.application.config.saml.added",
    "project.application.changed",
    "project.application.config.saml.changed",
    "project.application.deactivated",
  ])
  const asOidc = { applicationType: { case: "oidcConfiguration", value: {} } }
  const wrong = { applicationId: "a1", projectId: "px", ...asOidc }
  await expectFault(() => estate.as("manager", "updateApplication", wrong), {
    id: "app.kind_differs",
  })
})

describe("metadata at an address", () => {
  const address = "https://sp.example.com/metadata"

  test("is fetched once, and again when it is set again", async () => {
    const old = outsideWith(200, entity())
    await createSamlApplication(url(address), {}, old.cx)
    expect(old.asked).toEqual([{ url: address, method: "GET", sizeMax: 500_000 }])
    const { value } = (await getApplication()).configuration
    expect(value.metadataUrl).toBe(address)
    expect(Buffer.from(value.metadataXml).toString()).toBe(entity())
    await updateSamlApplication(url(address), outsideWith(200, entity()).cx)
    expect(await eventTypes()).toHaveLength(2)
    await updateSamlApplication(url(address), outsideWith(200, entityNamed("urn:new")).cx)
    expect(
      Buffer.from((await getApplication()).configuration.value.metadataXml).toString(),
    ).toContain("urn:new")
    await updateSamlApplication(xml(entityNamed("urn:new")))
    expect((await getApplication()).configuration.value.metadataUrl).toBe("")
  })

  test.each([
    ["nothing answers", undefined, "app.metadata_unreachable"],
    ["another status", outsideWith(302, entity()), "app.metadata_unreachable"],
    ["a page", outsideWith(200, "<html/>"), "app.metadata_invalid"],
  ])("is rejected if there is %s", async (_, world, id) => {
    await expectFault(() => createSamlApplication(url(address), {}, world?.cx), { id })
    expect(await eventTypes()).toEqual([])
  })

  test.each(["", "/metadata", "file:///etc/passwd", "gopher://sp", "https://sp/#a", "https://ä"])(
    "is never requested from %j",
    async (text) => {
      const { asked, cx } = outsideWith(200, entity())
      await expectFault(() => createSamlApplication(url(text), {}, cx), {
        id: "app.metadata_invalid",
      })
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
  ["an entityID of 1025", entityNamed("e".repeat(1025))],
  ["no service provider", entity('entityID="e"', "")],
  [
    "a service provider deep inside",
    entity('entityID="e"', `<md:Extensions>${spDescriptor()}</md:Extensions>`),
  ],
  [
    "one of SAML 1.1",
    entity('entityID="e"', spDescriptor().replace("SAML:2.0:protocol", "SAML:1.1:protocol")),
  ],
  ["no place for answers", entity('entityID="e"', spDescriptor(""))],
  [
    "a binding that we do not speak",
    entity('entityID="e"', spDescriptor(acs.replace("HTTP-POST", "PAOS"))),
  ],
  [
    "a place without an address",
    entity('entityID="e"', spDescriptor(acs.replace("Location", "Other"))),
  ],
  [
    "a script",
    entity('entityID="e"', spDescriptor(acs.replace("https://sp.example.com/acs", "javascript:0"))),
  ],
  ["what has expired", entity('entityID="e" validUntil="2001-01-01T00:00:00Z"')],
  [
    "an expired provider",
    entity('entityID="e"', spDescriptor(acs, ' validUntil="2001-01-01T00:00:00Z"')),
  ],
  ["no time", entity('entityID="e" validUntil="soon"')],
  ["too many tags", manyTags],
  ["too many namespaces", entity('entityID="e"', manyNamespaces)],
  ["too many references", entity('entityID="e"', spDescriptor() + "&amp;".repeat(20_000))],
  ["too many hyphens", entity('entityID="e"', `${spDescriptor()}<!--${" -".repeat(20_000)} -->`)],
  ["too much", entity('entityID="e"', `${spDescriptor()}<!--${" ".repeat(500_000)}-->`)],
])("rejects metadata with %s", async (_, text) => {
  await expectFault(() => createSamlApplication(xml(text)), {
    code: "invalid_argument",
    id: "app.metadata_invalid",
  })
})

test("rejects metadata that is not UTF-8, and requires some", async () => {
  const latin = Buffer.from(entityNamed("https://sp.example.com/ä"), "latin1")
  await expectFault(() => createSamlApplication({ case: "metadataXml", value: latin }), {
    id: "app.metadata_invalid",
  })
  await expectFault(() => createSamlApplication({ case: undefined }), {
    id: "app.metadata_missing",
  })
})

test.each([
  ["a byte order mark", `\ufeff${entity()}`],
  ["another prefix", entity().replaceAll("md:", "x:").replace("xmlns:md", "xmlns:x")],
  ["the longest entityID", entityNamed("e".repeat(1024))],
  ["time left", entity('entityID="e" validUntil="2999-01-01T00:00:00Z"')],
  [
    "an organization and a signature",
    entity('entityID="e"', `<o:S xmlns:o="urn:o"/>${spDescriptor()}`),
  ],
])("accepts metadata with %s", async (_, text) => {
  await createSamlApplication(xml(text))
  expect((await getApplication()).type).toBe(3)
})
