import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest"
import { owner } from "../support/latchkey.ts"
import { type InstancePair, openInstancePair } from "./instance-pair.ts"
import { humanInput } from "./service.ts"

// The compiled binary embeds these files; a test runner would execute them.
vi.mock("../../src/gen/ui-assets.ts", () => ({
  uiAssets: {},
  uiEntry: { css: "/ui/assets/kit.css", pageJs: "/ui/assets/page.js", icon: "/ui/mark.svg" },
}))

const secret = "Xyzzy-plugh-42-secret"
const password = { password: secret }
const change = { password, currentPassword: owner.password }
const failureText = "the disk is on fire at sector 7"

let pair: InstancePair
let token: string
let log = ""

beforeAll(async () => {
  vi.spyOn(process.stderr, "write").mockImplementation((chunk) => {
    log += String(chunk)
    return true
  })
  pair = await openInstancePair("trace")
  token = await pair.one.token()
  vi.spyOn(pair.store, "transact").mockRejectedValue(new Error(failureText))
})
beforeEach(() => {
  log = ""
})
afterAll(async () => {
  vi.restoreAllMocks()
  await pair?.close()
})

describe("an internal error", () => {
  const requests = (): readonly (readonly [string, object])[] => [
    ["CreateUser", { ...inOrg(), username: "x", human: { ...humanInput("x"), password } }],
    ["UpdateUser", { userId: pair.one.ownerId, human: { password: change } }],
    ["SetPassword", { userId: pair.one.ownerId, newPassword: password }],
  ]
  const inOrg = () => ({ organizationId: pair.one.orgId })

  test("returns the request ID, and not the cause", async () => {
    for (const [name, request] of requests()) {
      log = ""
      const { status, headers, body } = await pair.one.call(name, request, token)
      expect([name, status, body.code]).toEqual([name, 500, "internal"])
      const requestId = headers.get("x-request-id")
      expect(requestId).not.toBeNull()
      expect(body.message).toContain(requestId)
      expect(JSON.stringify(body)).not.toMatch(/fire|\.ts:/)
      expect(log).toContain(name)
      expect(log).toContain(failureText)
    }
  })

  test("writes no secret of the request to the log", async () => {
    for (const [name, request] of requests()) await pair.one.call(name, request, token)
    expect(log).toContain(failureText)
    for (const each of [secret, owner.password, token]) expect(log).not.toContain(each)
  })

  test("returns no cause at the token endpoint either", async () => {
    vi.spyOn(pair.store, "state").mockImplementation(() => {
      throw new Error(failureText)
    })
    const body = new URLSearchParams({
      grant_type: "authorization_code",
      code: secret,
      client_id: "1",
      client_secret: secret,
      redirect_uri: "https://app.example.com/",
    })
    const response = await pair.one.send("/oauth/v2/token", { method: "POST", body })
    expect(response.status).toBeGreaterThanOrEqual(400)
    expect(JSON.stringify(response.body)).not.toMatch(/fire|\.ts:/)
    expect(log).not.toContain(secret)
  })
})
