import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { app, isPrivateNetworkAllowed } from "../../../src/domain/app/index.ts"
import type { Reach } from "../../../src/kernel/port/outbound.ts"
import { unreachableOutside } from "../../support/outside.ts"
import { openTenant, type Tenant, type TenantUser } from "../../support/tenant.ts"

let estate: Tenant
let applicationId = ""
const nasUri = "http://nas.lan:5000/backchannel"

beforeEach(async () => openInstances(["i1"]))
afterEach(() => estate.close())

async function openInstances(instances: readonly string[]): Promise<void> {
  estate = await openTenant(instances)
  const p1 = { organizationId: "org1", projectId: "p1", name: "One" }
  await estate.as("manager", "createProject", p1)
  const added = await createApplication("manager", {})
  applicationId = added.applicationId
}

const createApplication = (user: TenantUser, oidc: object) =>
  estate.as(user, "createApplication", {
    projectId: "p1",
    name: "NAS",
    applicationType: {
      case: "oidcConfiguration",
      value: {
        redirectUris: ["https://nas.example.com/callback"],
        responseTypes: [1],
        backChannelLogoutUri: nasUri,
        ...oidc,
      },
    },
  })

const updateApplication = (user: TenantUser, oidc: object) =>
  estate.as(user, "updateApplication", {
    projectId: "p1",
    applicationId,
    applicationType: { case: "oidcConfiguration", value: oidc },
  })

const allowPrivateNetwork = (user: TenantUser, oidc: object = {}) =>
  updateApplication(user, { ...oidc, backChannelLogoutPrivateNetwork: true })

async function isShownAllowed(id = applicationId): Promise<boolean> {
  const { application } = await estate.as("manager", "getApplication", { applicationId: id })
  return application.configuration.value.backChannelLogoutPrivateNetwork
}

/** Whether sign-out notices may be sent into a private network. */
function isAllowed(): boolean {
  const state = estate.store.state(estate.cx(), app, applicationId)
  if (!("oidc" in state)) throw new Error("the application is deleted")
  return isPrivateNetworkAllowed(estate.cx(), state.oidc)
}

describe("a back-channel logout URI in a private network", () => {
  test("can be allowed by callers with iam.write only, and others receive no information", async () => {
    const addresses = [
      nasUri,
      "http://127.0.0.1:9/",
      "https://app.example.com/",
      "http://10.0.0.1/",
    ]
    const refusals = []
    for (const backChannelLogoutUri of addresses) {
      const refused = allowPrivateNetwork("manager", { backChannelLogoutUri })
      refusals.push(await refused.catch(({ code, id, message }) => [code, id, message].join()))
    }
    expect(new Set(refusals)).toEqual(
      new Set([
        "permission_denied,app.back_channel_private_denied," +
          "back_channel_logout_private_network requires the permission iam.write on the instance",
      ]),
    )
    const added = createApplication("manager", { backChannelLogoutPrivateNetwork: true })
    await expect(added).rejects.toMatchObject({ id: "app.back_channel_private_denied" })
    expect([await isShownAllowed(), isAllowed()]).toEqual([false, false])
    await allowPrivateNetwork("owner")
    expect([await isShownAllowed(), isAllowed()]).toEqual([true, true])
    const other = await createApplication("owner", { backChannelLogoutPrivateNetwork: true })
    expect(await isShownAllowed(other.applicationId)).toBe(true)
  })

  test("needs no new permission for another path, and keeps it through other changes", async () => {
    await allowPrivateNetwork("owner")
    await updateApplication("manager", { backChannelLogoutUri: "http://nas.lan:5000/other?x=1" })
    await updateApplication("manager", { developmentMode: true })
    // A form that sends all its values back.
    await allowPrivateNetwork("manager", { backChannelLogoutUri: nasUri })
    expect([await isShownAllowed(), isAllowed()]).toEqual([true, true])
  })

  test.each([
    ["scheme", "https://nas.lan:5000/backchannel"],
    ["host", "http://nas2.lan:5000/backchannel"],
    ["port", "http://nas.lan:5001/backchannel"],
    ["port, the usual one", "http://nas.lan/backchannel"],
    ["address, which it has no more", ""],
  ])("must be allowed again with another %s, and again when it is changed back", async (_, uri) => {
    await allowPrivateNetwork("owner")
    await updateApplication("manager", { backChannelLogoutUri: uri })
    expect([await isShownAllowed(), isAllowed()]).toEqual([false, false])
    await updateApplication("manager", { backChannelLogoutUri: nasUri })
    expect([await isShownAllowed(), isAllowed()]).toEqual([false, false])
    await expect(allowPrivateNetwork("manager")).rejects.toMatchObject({
      code: "permission_denied",
    })
  })

  test("is revoked by any change of the URI, and by undoing the permission", async () => {
    await allowPrivateNetwork("owner")
    await updateApplication("manager", { backChannelLogoutPrivateNetwork: false })
    expect(isAllowed()).toBe(false)
    const resource = { resource: { case: "applicationId", value: applicationId } }
    const newest = async () =>
      (await estate.as("owner", "listChanges", { resource, limit: 1 })).changes[0]
    const { sequence } = await newest()
    const undo = (user: TenantUser) => estate.as(user, "undoChange", { resource, sequence })
    await expect(undo("manager")).rejects.toMatchObject({ code: "permission_denied" })
    await undo("owner")
    expect(isAllowed()).toBe(true)
    const again = await newest()
    await estate.as("manager", "undoChange", { resource, sequence: again.sequence })
    expect(isAllowed()).toBe(false)
  })

  test("is never called if other instances share the service, or if it is this service", async () => {
    await allowPrivateNetwork("owner", {
      backChannelLogoutUri: "https://id.example.com/backchannel",
    })
    expect(isAllowed()).toBe(false)
    await estate.close()
    await openInstances(["i1", "i2"])
    await allowPrivateNetwork("owner")
    expect(isAllowed()).toBe(false)
  })
})

describe("the network of such a URI", () => {
  let lookups: string[] = []
  const status = (user: TenantUser, uri = "", leads: Reach = "private_network") => {
    const reach = async (url: string) => {
      lookups.push(url)
      return leads
    }
    const request = { applicationId, projectId: "p1", backChannelLogoutUri: uri }
    const cx = { outside: { ...unreachableOutside, reach } }
    return estate.as(user, "getBackChannelLogoutStatus", request, { cx })
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
    expect(lookups).toEqual([nasUri, "http://x.lan/"])
  })

  test("is neither shown to others nor resolved for them", async () => {
    for (const leads of ["open", "private_network", "forbidden", "unknown_host"] as const) {
      const answer = await status("manager", "http://x.lan/", leads)
      expect(answer).toMatchObject({ reach: 0, lastError: "", failedNotices: 0 })
    }
    expect(lookups).toEqual([])
    expect(() => status("stranger")).toThrow("application not found")
  })

  test("is forbidden if it is this service, or if others share the service", async () => {
    expect(await status("owner", "https://id.example.com/x")).toMatchObject({ reach: 3 })
    await estate.close()
    await openInstances(["i1", "i2"])
    expect(await status("owner")).toMatchObject({ reach: 3 })
    expect(await status("owner", "", "open")).toMatchObject({ reach: 1 })
  })

  test("is resolved for web addresses only", async () => {
    const refused = status("owner", "file:///etc/passwd")
    await expect(refused).rejects.toMatchObject({ id: "app.back_channel_logout_uri_invalid" })
  })
})
