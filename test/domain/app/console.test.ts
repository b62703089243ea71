import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { app } from "../../../src/domain/app/index.ts"
import { openTenant, type Tenant } from "../../support/tenant.ts"

let estate: Tenant
beforeAll(async () => {
  estate = await openTenant()
})
afterAll(() => estate.close())

/** Changes that send the console's tokens elsewhere or deactivate it. */
const changes = {
  "other redirect URIs": [
    "updateApplication",
    {
      applicationType: {
        case: "oidcConfiguration",
        value: { redirectUris: ["https://evil.example/callback"] },
      },
    },
  ],
  "a secret": ["generateClientSecret", {}],
  "a stop": ["deactivateApplication", {}],
  removal: ["deleteApplication", {}],
} as const

describe("the console", () => {
  const consoleState = () => estate.store.state(estate.cx(), app, "console")

  test.each(Object.entries(changes))(
    "rejects %s by an owner of the organization of its project",
    async (_, [operation, fields]) => {
      const before = consoleState()
      const request = { projectId: "own", applicationId: "console", ...fields }
      const asked = async () => estate.as("manager", operation, request)
      await expect(asked()).rejects.toMatchObject({ code: "not_found" })
      expect(consoleState()).toEqual(before)
    },
  )

  test("can be changed by an instance owner", async () => {
    const [operation, fields] = changes["other redirect URIs"]
    const request = { projectId: "own", applicationId: "console", ...fields }
    await estate.as("owner", operation, request)
    const state = consoleState()
    const uris = "oidc" in state ? state.oidc.redirectUris : []
    expect(uris).toEqual(["https://evil.example/callback"])
  })
})
