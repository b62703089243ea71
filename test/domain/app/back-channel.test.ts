import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { app, isPrivateAllowed } from "../../../src/domain/app/index.ts"
import type { Reach } from "../../../src/kernel/port/outbound.ts"
import { type Estate, openEstate, type Person } from "../../support/estate.ts"
import { nowhere } from "../../support/outside.ts"

let estate: Estate
let applicationId = ""
const nas = "http://nas.lan:5000/backchannel"

beforeEach(async () => open(["i1"]))
afterEach(() => estate.close())

async function open(instances: readonly string[]): Promise<void> {
  estate = await openEstate(instances)
  const p1 = { organizationId: "org1", projectId: "p1", name: "One" }
  await estate.as("manager", "createProject", p1)
  const added = await create("manager", {})
  applicationId = added.applicationId
}

const create = (who: Person, oidc: object) =>
  estate.as(who, "createApplication", {
    projectId: "p1",
    name: "NAS",
    applicationType: {
      case: "oidcConfiguration",
      value: {
        redirectUris: ["https://nas.example.com/callback"],
        responseTypes: [1],
        backChannelLogoutUri: nas,
        ...oidc,
      },
    },
  })

const change = (who: Person, oidc: object) =>
  estate.as(who, "updateApplication", {
    projectId: "p1",
    applicationId,
    applicationType: { case: "oidcConfiguration", value: oidc },
  })

const allow = (who: Person, oidc: object = {}) =>
  change(who, { ...oidc, backChannelLogoutPrivateNetwork: true })

async function shown(id = applicationId): Promise<boolean> {
  const { application } = await estate.as("manager", "getApplication", { applicationId: id })
  return application.configuration.value.backChannelLogoutPrivateNetwork
}

/** Whether notices may go into a private network. */
function isAllowed(): boolean {
  const state = estate.store.state(estate.cx(), app, applicationId)
  if (!("oidc" in state)) throw new Error("the application is gone")
  return isPrivateAllowed(estate.cx(), state.oidc)
}

describe("an address for sign-out notices in a private network", () => {
  test("is allowed by callers with iam.write alone, and others learn nothing of it", async () => {
    const addresses = [nas, "http://127.0.0.1:9/", "https://app.example.com/", "http://10.0.0.1/"]
    const refusals = []
    for (const backChannelLogoutUri of addresses) {
      const refused = allow("manager", { backChannelLogoutUri })
      refusals.push(await refused.catch(({ code, id, message }) => [code, id, message].join()))
    }
    expect(new Set(refusals)).toEqual(
      new Set([
        "permission_denied,app.back_channel_private_denied," +
          "back_channel_logout_private_network requires the permission iam.write on the instance",
      ]),
    )
    const added = create("manager", { backChannelLogoutPrivateNetwork: true })
    await expect(added).rejects.toMatchObject({ id: "app.back_channel_private_denied" })
    expect([await shown(), isAllowed()]).toEqual([false, false])
    await allow("owner")
    expect([await shown(), isAllowed()]).toEqual([true, true])
    const other = await create("owner", { backChannelLogoutPrivateNetwork: true })
    expect(await shown(other.applicationId)).toBe(true)
  })

  test("needs no new permission for another path, and keeps it through other changes", async () => {
    await allow("owner")
    await change("manager", { backChannelLogoutUri: "http://nas.lan:5000/other?x=1" })
    await change("manager", { developmentMode: true })
    // A form that sends all its values back.
    await allow("manager", { backChannelLogoutUri: nas })
    expect([await shown(), isAllowed()]).toEqual([true, true])
  })

  test.each([
    ["scheme", "https://nas.lan:5000/backchannel"],
    ["host", "http://nas2.lan:5000/backchannel"],
    ["port", "http://nas.lan:5001/backchannel"],
    ["port, the usual one", "http://nas.lan/backchannel"],
    ["address, which it has no more", ""],
  ])("must be allowed again with another %s, and again when it is changed back", async (_, uri) => {
    await allow("owner")
    await change("manager", { backChannelLogoutUri: uri })
    expect([await shown(), isAllowed()]).toEqual([false, false])
    await change("manager", { backChannelLogoutUri: nas })
    expect([await shown(), isAllowed()]).toEqual([false, false])
    await expect(allow("manager")).rejects.toMatchObject({ code: "permission_denied" })
  })

  test("is taken back by whoever changes the application, and by undoing it", async () => {
    await allow("owner")
    await change("manager", { backChannelLogoutPrivateNetwork: false })
    expect(isAllowed()).toBe(false)
    const resource = { resource: { case: "applicationId", value: applicationId } }
    const newest = async () =>
      (await estate.as("owner", "listChanges", { resource, limit: 1 })).changes[0]
    const { sequence } = await newest()
    const undo = (who: Person) => estate.as(who, "undoChange", { resource, sequence })
    await expect(undo("manager")).rejects.toMatchObject({ code: "permission_denied" })
    await undo("owner")
    expect(isAllowed()).toBe(true)
    const again = await newest()
    await estate.as("manager", "undoChange", { resource, sequence: again.sequence })
    expect(isAllowed()).toBe(false)
  })

  test("is never called where other instances share the service, or where it is ours", async () => {
    await allow("owner", { backChannelLogoutUri: "https://id.example.com/backchannel" })
    expect(isAllowed()).toBe(false)
    await estate.close()
    await open(["i1", "i2"])
    await allow("owner")
    expect(isAllowed()).toBe(false)
  })
})

describe("where such an address leads", () => {
  let lookups: string[] = []
  const status = (who: Person, uri = "", leads: Reach = "private_network") => {
    const reach = async (url: string) => {
      lookups.push(url)
      return leads
    }
    const request = { applicationId, projectId: "p1", backChannelLogoutUri: uri }
    const cx = { outside: { ...nowhere, reach } }
    return estate.as(who, "getBackChannelLogoutStatus", request, { cx })
  }
  beforeEach(() => {
    lookups = []
  })

  test.each([
    ["open", 1],
    ["private_network", 2],
    ["forbidden", 3],
    ["unknown_host", 4],
  ] as const)("is shown to callers with iam.write: %s", async (leads, reach) => {
    expect(await status("owner", "", leads)).toMatchObject({ reach })
    expect(await status("owner", "http://x.lan/", leads)).toMatchObject({ reach })
    expect(lookups).toEqual([nas, "http://x.lan/"])
  })

  test("is neither shown to others, nor looked up for them", async () => {
    for (const leads of ["open", "private_network", "forbidden", "unknown_host"] as const) {
      const answer = await status("manager", "http://x.lan/", leads)
      expect(answer).toMatchObject({ reach: 0, lastError: "", failedNotices: 0 })
    }
    expect(lookups).toEqual([])
    expect(() => status("stranger")).toThrow("no such application")
  })

  test("is forbidden where it is this service, and where others share the service", async () => {
    expect(await status("owner", "https://id.example.com/x")).toMatchObject({ reach: 3 })
    await estate.close()
    await open(["i1", "i2"])
    expect(await status("owner")).toMatchObject({ reach: 3 })
    expect(await status("owner", "", "open")).toMatchObject({ reach: 1 })
  })

  test("is asked of addresses of the web alone", async () => {
    const refused = status("owner", "file:///etc/passwd")
    await expect(refused).rejects.toMatchObject({ id: "app.back_channel_logout_uri_invalid" })
  })
})
