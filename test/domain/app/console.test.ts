import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { app } from "../../../src/domain/app/index.ts"
import { type Estate, openEstate } from "../../support/estate.ts"

let estate: Estate
beforeAll(async () => {
  estate = await openEstate()
})
afterAll(() => estate.close())

/** Whatever sends the console's tokens elsewhere, or stops it. */
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
    "gets no %s from who owns the organisation that our project is of",
    async (_, [operation, fields]) => {
      const before = consoleState()
      const request = { projectId: "own", applicationId: "console", ...fields }
      const asked = async () => estate.as("manager", operation, request)
      await expect(asked()).rejects.toMatchObject({ code: "not_found" })
      expect(consoleState()).toEqual(before)
    },
  )

  test("is changed by who owns the instance", async () => {
    const [operation, fields] = changes["other redirect URIs"]
    const request = { projectId: "own", applicationId: "console", ...fields }
    await estate.as("owner", operation, request)
    const state = consoleState()
    const uris = "oidc" in state ? state.oidc.redirectUris : []
    expect(uris).toEqual(["https://evil.example/callback"])
  })
})
