import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { createApplication } from "../../../src/domain/app/commands.ts"
import { addApplication, findClient, isValidSecret } from "../../../src/domain/app/index.ts"
import { createUser } from "../../../src/domain/user/create.ts"
import { removeUser, updateUser } from "../../../src/domain/user/index.ts"
import { openTenant, type Tenant } from "../../support/tenant.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
  await addProject("px")
})
afterEach(() => estate.close())

const addProject = (projectId: string) =>
  estate.as("manager", "createProject", { organizationId: "org1", projectId, name: projectId })

const secret = "Chosen-0123456789-abcdefghijklmn"

type ClientValue = { readonly clientId?: string; readonly clientSecret?: string }

const createClient = (
  value: ClientValue & { readonly authMethodType?: number },
  kind = "oidc",
  id = "",
) =>
  estate.as("manager", "createApplication", {
    projectId: "px",
    applicationId: id,
    name: "One",
    applicationType: {
      case: kind,
      value: { ...(kind === "oidc" && { redirectUris: ["https://a.example.com/cb"] }), ...value },
    },
  })

const createPerson = (id: string, userName: string) =>
  createUser(estate.cx(), id, {
    kind: "human",
    orgId: "org1",
    userName,
    profile: { givenName: "Pat", familyName: "Person" },
    email: { value: `${userName}@example.com`, verified: false },
  })
const createServiceAccount = (id: string, userName: string) =>
  createUser(estate.cx(), id, {
    kind: "machine",
    orgId: "org1",
    userName,
    name: "R",
    accessTokenType: "bearer",
  })

const clientIdTaken = {
  code: "already_exists",
  id: "app.client_id_taken",
  message: "client_id is already in use; choose another one",
}

describe.each(["oidc", "api"])("%s", (kind) => {
  test("is created with the chosen client ID and secret", async () => {
    const { applicationType } = await createClient(
      { clientId: "Shop.web_1", clientSecret: secret },
      kind,
    )
    expect(applicationType.value).toMatchObject({ clientId: "Shop.web_1", clientSecret: "" })
    const client = findClient(estate.cx(), "Shop.web_1")
    if (!client) throw new Error("client not found")
    expect(isValidSecret(estate.cx(), client.appId, { ...client, secret })).toBe(true)
    expect(JSON.stringify(await estate.store.log.read(0, 1000))).not.toContain(secret)
  })
})

test("if only one of the two is chosen, the other is generated", async () => {
  const named = (await createClient({ clientId: "shop" })).applicationType.value
  expect([named.clientId, named.clientSecret]).toEqual(["shop", expect.stringMatching(/.{32,}/)])
  const hidden = (await createClient({ clientSecret: secret })).applicationType.value
  expect([hidden.clientId, hidden.clientSecret]).toEqual([expect.stringMatching(/^\d+$/), ""])
})

test.each(["ab", "a".repeat(101), "123456", "1.2-3", "shop@px", "a b c", "https://x", "späti"])(
  "rejects %s as a client ID",
  async (clientId) => {
    await expect(createClient({ clientId })).rejects.toMatchObject({
      code: "invalid_argument",
      id: "app.client_id_invalid",
    })
  },
)

test.each([
  "short-0123456789-abcdefghijklmn",
  "a".repeat(64),
  `${secret} with spaces`,
  `${secret}ü`,
  secret.repeat(9),
])("rejects %s as a secret", async (clientSecret) => {
  await expect(createClient({ clientSecret })).rejects.toMatchObject({
    id: "app.client_secret_invalid",
  })
})

test("rejects a secret that nothing uses", async () => {
  await expect(createClient({ clientSecret: secret, authMethodType: 2 })).rejects.toMatchObject({
    id: "app.client_secret_unused",
  })
})

const holders: readonly (readonly [string, (id: string) => Promise<unknown>])[] = [
  ["a project", addProject],
  ["a client", (clientId) => createClient({ clientId })],
  ["a user", (id) => createPerson(id, "pat")],
  ["a service account", (id) => createServiceAccount(id, "robot")],
  ["the name of a service account", (name) => createServiceAccount("r1", name)],
  ["a login name", (name) => createPerson("p1", name)],
  ["a login name that a rename left", (name) => renameUser(name)],
  ["a project that was deleted", (projectId) => addAndDeleteProject(projectId)],
  ["a user that was deleted", (id) => addAndDeleteUser(id)],
  ["a client that was deleted", (clientId) => addAndDeleteClient(clientId)],
]

async function renameUser(name: string) {
  await createPerson("p1", name)
  await updateUser(estate.cx(), "p1", { userName: "other" })
}

async function addAndDeleteProject(projectId: string) {
  await addProject(projectId)
  await estate.as("manager", "deleteProject", { projectId })
}

async function addAndDeleteUser(id: string) {
  await createPerson(id, "pat")
  await removeUser(estate.cx(), id)
}

async function addAndDeleteClient(clientId: string) {
  const { applicationId } = await createClient({ clientId })
  await estate.as("manager", "deleteApplication", { applicationId, projectId: "px" })
}

test.each(holders)("rejects the ID of %s with the same error for all", async (_, hold) => {
  await hold("shop-1")
  await expect(createClient({ clientId: "shop-1" })).rejects.toMatchObject(clientIdTaken)
})

const takers = holders.slice(0, 5).filter(([name]) => name !== "a client")

test.each(takers)("a chosen ID can't become the ID of %s", async (_, take) => {
  await createClient({ clientId: "shop-1" })
  await expect(take("shop-1")).rejects.toMatchObject({ code: "already_exists" })
})

test.each(takers)(
  "a chosen ID stays reserved after its application was deleted: %s",
  async (_, take) => {
    await addAndDeleteClient("shop-1")
    await expect(take("shop-1")).rejects.toMatchObject({ code: "already_exists" })
  },
)

test("one of two concurrent creations with the same client ID succeeds", async () => {
  const both = await Promise.allSettled([
    createClient({ clientId: "shop" }, "oidc", "a1"),
    createClient({ clientId: "shop" }, "api", "a2"),
  ])
  expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"])
  expect(both.find(({ status }) => status === "rejected")).toMatchObject({ reason: clientIdTaken })
})

test.each(["user", "project"])(
  "a client or a %s with its ID succeeds if both are created concurrently",
  async (kind) => {
    const both = await Promise.allSettled([
      kind === "user" ? createPerson("shop", "pat") : addProject("shop"),
      createClient({ clientId: "shop" }),
    ])
    expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"])
  },
)

test("a generated ID is released with its application", async () => {
  const { applicationId, applicationType } = await createClient({})
  await estate.as("manager", "deleteApplication", { applicationId, projectId: "px" })
  await createServiceAccount("r1", applicationType.value.clientId)
})

test.each(["228606518895837184", "228606518895837184@shop"])(
  "an import keeps the client ID %s",
  async (clientId) => {
    const config = { kind: "api", api: { authMethod: "basic" } } as const
    const input = { projectId: "px", name: "Old", clientId, config }
    const cx = estate.cx()
    await cx.store.transact(cx, (tx) => addApplication(tx, "old", input))
    expect(findClient(cx, clientId)?.appId).toBe("old")
    await expect(createPerson(clientId, "pat")).rejects.toMatchObject({ id: "user.id_is_client" })
  },
)

test("a SAML application has no client ID", async () => {
  const cx = estate.cx()
  const metadata = `<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="e"/>`
  const saml = { entityId: "e", metadata, metadataUrl: "" }
  const config = { kind: "saml", saml: { ...saml, loginVersion: { version: "v1" } } } as const
  const made = await createApplication(cx, "s1", { projectId: "px", name: "S", config })
  expect([made.clientId, made.secret]).toEqual(["", undefined])
})
