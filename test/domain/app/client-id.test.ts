import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { createApplication } from "../../../src/domain/app/commands.ts"
import { addApplication, findClient, isSecret } from "../../../src/domain/app/index.ts"
import { createUser } from "../../../src/domain/user/create.ts"
import { removeUser, updateUser } from "../../../src/domain/user/index.ts"
import { type Estate, openEstate } from "../../support/estate.ts"

let estate: Estate
beforeEach(async () => {
  estate = await openEstate()
  await addProject("px")
})
afterEach(() => estate.close())

const addProject = (projectId: string) =>
  estate.as("manager", "createProject", { organizationId: "org1", projectId, name: projectId })

const secret = "Chosen-0123456789-abcdefghijklmn"

type Value = { readonly clientId?: string; readonly clientSecret?: string }

const make = (value: Value & { readonly authMethodType?: number }, kind = "oidc", id = "") =>
  estate.as("manager", "createApplication", {
    projectId: "px",
    applicationId: id,
    name: "One",
    applicationType: {
      case: kind,
      value: { ...(kind === "oidc" && { redirectUris: ["https://a.example.com/cb"] }), ...value },
    },
  })

const person = (id: string, userName: string) =>
  createUser(estate.cx(), id, {
    kind: "human",
    orgId: "org1",
    userName,
    profile: { givenName: "Pat", familyName: "Person" },
    email: { value: `${userName}@example.com`, verified: false },
  })
const robot = (id: string, userName: string) =>
  createUser(estate.cx(), id, {
    kind: "machine",
    orgId: "org1",
    userName,
    name: "R",
    accessTokenType: "bearer",
  })

const inUse = {
  code: "already_exists",
  id: "app.client_id_taken",
  message: "client_id is already in use; choose another",
}

describe.each(["oidc", "api"])("%s", (kind) => {
  test("is created with the client ID and the secret that are chosen", async () => {
    const { applicationType } = await make({ clientId: "Shop.web_1", clientSecret: secret }, kind)
    expect(applicationType.value).toMatchObject({ clientId: "Shop.web_1", clientSecret: "" })
    const client = findClient(estate.cx(), "Shop.web_1")
    if (!client) throw new Error("no such client")
    expect(isSecret(estate.cx(), client.appId, { ...client, secret })).toBe(true)
    expect(JSON.stringify(await estate.store.log.read(0, 1000))).not.toContain(secret)
  })
})

test("only one of the two is chosen: the other is generated", async () => {
  const named = (await make({ clientId: "shop" })).applicationType.value
  expect([named.clientId, named.clientSecret]).toEqual(["shop", expect.stringMatching(/.{32,}/)])
  const hidden = (await make({ clientSecret: secret })).applicationType.value
  expect([hidden.clientId, hidden.clientSecret]).toEqual([expect.stringMatching(/^\d+$/), ""])
})

test.each(["ab", "a".repeat(101), "123456", "1.2-3", "shop@px", "a b c", "https://x", "späti"])(
  "%s is no client ID to choose",
  async (clientId) => {
    await expect(make({ clientId })).rejects.toMatchObject({
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
])("%s is no secret to choose", async (clientSecret) => {
  await expect(make({ clientSecret })).rejects.toMatchObject({ id: "app.client_secret_invalid" })
})

test("a secret is refused where nothing uses it", async () => {
  await expect(make({ clientSecret: secret, authMethodType: 2 })).rejects.toMatchObject({
    id: "app.client_secret_unused",
  })
})

const holders: readonly (readonly [string, (id: string) => Promise<unknown>])[] = [
  ["a project", addProject],
  ["a client", (clientId) => make({ clientId })],
  ["a user", (id) => person(id, "pat")],
  ["a service account", (id) => robot(id, "robot")],
  ["the name of a service account", (name) => robot("r1", name)],
  ["a login name", (name) => person("p1", name)],
  ["a login name that a rename left", (name) => renamed(name)],
  ["a project that was deleted", (projectId) => deletedProject(projectId)],
  ["a user that was deleted", (id) => deletedUser(id)],
  ["a client that was deleted", (clientId) => deletedClient(clientId)],
]

async function renamed(name: string) {
  await person("p1", name)
  await updateUser(estate.cx(), "p1", { userName: "other" })
}

async function deletedProject(projectId: string) {
  await addProject(projectId)
  await estate.as("manager", "deleteProject", { projectId })
}

async function deletedUser(id: string) {
  await person(id, "pat")
  await removeUser(estate.cx(), id)
}

async function deletedClient(clientId: string) {
  const { applicationId } = await make({ clientId })
  await estate.as("manager", "deleteApplication", { applicationId, projectId: "px" })
}

test.each(holders)("the ID of %s can't be chosen, with one error text for all", async (_, hold) => {
  await hold("shop-1")
  await expect(make({ clientId: "shop-1" })).rejects.toMatchObject(inUse)
})

const takers = holders.slice(0, 5).filter(([name]) => name !== "a client")

test.each(takers)("a chosen ID can't become that of %s", async (_, take) => {
  await make({ clientId: "shop-1" })
  await expect(take("shop-1")).rejects.toMatchObject({ code: "already_exists" })
})

test.each(takers)("nor can it after its application was deleted: %s", async (_, take) => {
  await deletedClient("shop-1")
  await expect(take("shop-1")).rejects.toMatchObject({ code: "already_exists" })
})

test("of two creations at once with the same client ID one wins", async () => {
  const both = await Promise.allSettled([
    make({ clientId: "shop" }, "oidc", "a1"),
    make({ clientId: "shop" }, "api", "a2"),
  ])
  expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"])
  expect(both.find(({ status }) => status === "rejected")).toMatchObject({ reason: inUse })
})

test.each(["user", "project"])(
  "of a client and a %s with its ID at once one wins",
  async (kind) => {
    const both = await Promise.allSettled([
      kind === "user" ? person("shop", "pat") : addProject("shop"),
      make({ clientId: "shop" }),
    ])
    expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"])
  },
)

test("a generated ID is released with its application", async () => {
  const { applicationId, applicationType } = await make({})
  await estate.as("manager", "deleteApplication", { applicationId, projectId: "px" })
  await robot("r1", applicationType.value.clientId)
})

test.each(["228606518895837184", "228606518895837184@shop"])(
  "an import keeps the client ID %s",
  async (clientId) => {
    const config = { kind: "api", api: { authMethod: "basic" } } as const
    const input = { projectId: "px", name: "Old", clientId, config }
    const cx = estate.cx()
    await cx.store.transact(cx, (tx) => addApplication(tx, "old", input))
    expect(findClient(cx, clientId)?.appId).toBe("old")
    await expect(person(clientId, "pat")).rejects.toMatchObject({ id: "user.id_is_client" })
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
