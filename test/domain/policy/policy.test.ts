import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { pageLanguages } from "../../../src/kernel/text/language.ts"
import {
  callsOf,
  jsonOf,
  messageOf,
  type PolicyRow,
  policyRows,
  withEmptyValues,
} from "../../support/policies.ts"
import { openTenant, type Tenant, type TenantUser } from "../../support/tenant.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
})
afterEach(() => estate.close())

/** Without it no one could sign in. */
const passwordLogin = { allowUsernamePassword: true }

const inOrg = { case: "orgId", value: "org1" } as const
const inInstance = { case: "instance", value: true } as const

/** The result of each read operation. */
async function readAll(row: PolicyRow) {
  const { name, settings, renamed = {}, isMine } = row
  const calls = callsOf(row)
  const get = async (of: string, call: string, more = {}) => {
    const { policy } = await estate.as("owner", call, more, { of })
    return { says: jsonOf(row, policy), isDefault: policy.isDefault }
  }
  const ask = async (call: string, resourceOwner: object) => {
    const { settings: found } = await estate.as("owner", call, { ctx: { resourceOwner } })
    const back = Object.entries(renamed).map(([older, newer]) => [older, found[newer]])
    const says = jsonOf(row, { ...found, ...Object.fromEntries(back) })
    return { says, isDefault: found.resourceOwnerType === 1 }
  }
  return {
    instance: await get("admin.v1", `get${name}Policy`),
    org: await get(calls.of, calls.get, calls.more),
    standard: calls.standard && (await get("management.v1", calls.standard)),
    settings: settings && (await ask(settings, inOrg)),
    instanceSettings: settings && (await ask(settings, inInstance)),
    mine: isMine && (await get("auth.v1", `getMy${name}Policy`)),
  }
}

/** The expected result of all read operations. */
function expectedReads(row: PolicyRow, instance: object, own?: object) {
  const above = { says: instance, isDefault: true }
  const org = own ? { says: own, isDefault: false } : above
  const { settings, isMine } = row
  return {
    instance: above,
    org,
    standard: callsOf(row).standard && above,
    settings: settings && org,
    instanceSettings: settings && above,
    mine: isMine && org,
  }
}

describe.each(policyRows.map((row) => [row.name, row] as const))("%s", (name, row) => {
  const { activates } = row
  const calls = callsOf(row)
  /** Takes effect immediately, or once it is activated. */
  const activate = async (at: "instance" | "org") => {
    const of = at === "org" ? "management.v1" : "admin.v1"
    if (activates) await estate.as("owner", activates[at], {}, { of })
  }
  const inOrg = async (call: string, values = {}) => {
    const request = { ...calls.more, ...messageOf(values) }
    const answer = await estate.as("owner", call, request, { of: calls.of })
    if (call !== calls.reset) await activate("org")
    return answer
  }
  const add = (values = row.own) => inOrg(calls.add, values)
  const update = (values: PolicyRow["own"]) => inOrg(calls.update, values)
  const reset = () => inOrg(calls.reset)
  const updateInstance = async (values: PolicyRow["own"]) => {
    await estate.as("owner", `update${name}Policy`, messageOf(values), { of: "admin.v1" })
    await activate("instance")
  }

  test("is inherited until it is set, and again after it is reset", async () => {
    const { standard } = row
    const [instance, own] = [withEmptyValues(row, row.instance), withEmptyValues(row, row.own)]
    expect(await readAll(row)).toEqual(expectedReads(row, standard))
    await updateInstance(row.instance)
    expect(await readAll(row)).toEqual(expectedReads(row, instance))
    await add()
    expect(await readAll(row)).toEqual(expectedReads(row, instance, own))
    await update(row.instance)
    expect(await readAll(row)).toEqual(expectedReads(row, instance, instance))
    await updateInstance(row.own)
    expect(await readAll(row)).toEqual(expectedReads(row, own, instance))
    await reset()
    expect(await readAll(row)).toEqual(expectedReads(row, own))
  })

  test("is set for one organization only", async () => {
    await add()
    const { of, more } = calls
    const other = { ...more, ...(more.orgId && { orgId: "org2" }) }
    const asked = await estate.as(row.isNamed ? "owner" : "stranger", calls.get, other, { of })
    expect(jsonOf(row, asked.policy)).toEqual(row.standard)
    for (const call of [calls.add, calls.update, calls.reset]) {
      const tried = async () => estate.as("nobody", call, more, { of })
      await expect(tried(), call).rejects.toMatchObject({ code: "permission_denied" })
    }
    for (const person of ["manager", "nobody"] as const) {
      const tried = async () =>
        estate.as(person, `update${name}Policy`, messageOf(row.own), { of: "admin.v1" })
      await expect(tried(), person).rejects.toMatchObject({ code: "permission_denied" })
    }
  })

  test("is added once, and changed or reset only where it was added", async () => {
    const exists = { code: "already_exists", id: "policy.exists" }
    const missing = { code: "not_found", id: "policy.missing" }
    const unchanged = { code: "failed_precondition", id: "policy.unchanged" }
    await expect(update(row.own)).rejects.toMatchObject(missing)
    await expect(reset()).rejects.toMatchObject(missing)
    await add()
    await expect(add()).rejects.toMatchObject(exists)
    await expect(update(row.own)).rejects.toMatchObject(unchanged)
    await reset()
    await expect(reset()).rejects.toMatchObject(missing)
    await updateInstance(row.instance)
    await expect(updateInstance(row.instance)).rejects.toMatchObject(unchanged)
  })

  test("returns its owner and whether it is inherited", async () => {
    const get = async () =>
      (await estate.as("owner", calls.get, calls.more, { of: calls.of })).policy.details
    expect(await get()).toMatchObject({ sequence: 0n, resourceOwner: "i1" })
    expect((await add()).details).toMatchObject({ resourceOwner: "org1" })
    const first = await get()
    const steps = activates ? 2n : 1n
    expect(first).toMatchObject({ sequence: steps, resourceOwner: "org1" })
    estate.clock.advance(1000)
    await update(row.instance)
    const second = await get()
    expect(second).toMatchObject({ sequence: 2n * steps, creationDate: first.creationDate })
    expect(second.changeDate).not.toEqual(first.changeDate)
  })
})

test.each([
  ["updatePasswordComplexityPolicy", { minLength: 0 }, "min_length"],
  ["updatePasswordComplexityPolicy", { minLength: 65 }, "min_length"],
  ["updateLockoutPolicy", { maxPasswordAttempts: 1001 }, "max_password_attempts"],
  ["updateLockoutPolicy", { maxOtpAttempts: 1001 }, "max_otp_attempts"],
  ["updatePasswordAgePolicy", { maxAgeDays: 3651 }, "max_age_days"],
  ["updatePasswordAgePolicy", { maxAgeDays: 7, expireWarnDays: 7 }, "expire_warn_days"],
  ["updatePrivacyPolicy", { tosLink: "javascript:alert(1)" }, "tos_link"],
  ["updatePrivacyPolicy", { privacyLink: "/privacy" }, "privacy_link"],
  ["updatePrivacyPolicy", { helpLink: " https://example.com" }, "help_link"],
  ["updatePrivacyPolicy", { docsLink: "data:text/html,x" }, "docs_link"],
  ["updatePrivacyPolicy", { customLink: "mailto:a@example.com" }, "custom_link"],
  ["updatePrivacyPolicy", { customLinkText: "a\nb" }, "custom_link_text"],
  ["updatePrivacyPolicy", { supportEmail: "a@example.com\nBcc: b" }, "support_email"],
  ["updateLabelPolicy", { primaryColor: "red" }, "primary_color"],
  ["updateLabelPolicy", { fontColorDark: "#fff" }, "font_color_dark"],
  ["updateLabelPolicy", { backgroundColor: "#12345g" }, "background_color"],
  ["updateLoginPolicy", { allowUsernamePassword: false }, "allow_username_password"],
  [
    "updateLoginPolicy",
    { ...passwordLogin, defaultRedirectUri: "javascript:1" },
    "default_redirect_uri",
  ],
  [
    "updateLoginPolicy",
    { ...passwordLogin, passwordCheckLifetime: "-1s" },
    "password_check_lifetime",
  ],
])("%s rejects %j and names %s", async (call, values, field) => {
  const tried = estate.as("owner", call, messageOf(values), { of: "admin.v1" })
  await expect(tried).rejects.toMatchObject({
    code: "invalid_argument",
    id: expect.stringMatching(/^policy\.(value_invalid|no_way_in)$/),
    message: expect.stringContaining(field),
  })
})

describe("the factors of the login policy", () => {
  const call = (name: string, request = {}) =>
    estate.as("owner", name, request, { of: "management.v1" })
  const [otp, u2f, mail] = [{ type: 1 }, { type: 2 }, { type: 3 }]
  const allowed = async () => ({
    second: (await call("listLoginPolicySecondFactors")).result,
    multi: (await call("listLoginPolicyMultiFactors")).result,
  })

  test("are added and removed one by one", async () => {
    expect(await allowed()).toEqual({ second: [1, 2], multi: [1] })
    await call("addCustomLoginPolicy", { ...passwordLogin, secondFactors: [2, 2] })
    expect(await allowed()).toEqual({ second: [2], multi: [] })
    await call("addSecondFactorToLoginPolicy", mail)
    await call("addMultiFactorToLoginPolicy", otp)
    expect(await allowed()).toEqual({ second: [2, 3], multi: [1] })
    await call("removeSecondFactorFromLoginPolicy", u2f)
    await call("removeMultiFactorFromLoginPolicy", otp)
    expect(await allowed()).toEqual({ second: [3], multi: [] })
  })

  test("are unique, and belong to the organization's own policy", async () => {
    const tried = (name: string, request: object) => expect(call(name, request)).rejects
    await tried("addSecondFactorToLoginPolicy", mail).toMatchObject({ id: "policy.missing" })
    await call("addCustomLoginPolicy", { ...passwordLogin, secondFactors: [1] })
    await tried("addSecondFactorToLoginPolicy", otp).toMatchObject({ id: "policy.factor_exists" })
    const missing = { code: "not_found", id: "policy.factor_missing" }
    await tried("removeSecondFactorFromLoginPolicy", u2f).toMatchObject(missing)
    const unknown = { id: "request.enum_unknown" }
    await tried("addSecondFactorToLoginPolicy", { type: 9 }).toMatchObject(unknown)
    await tried("addMultiFactorToLoginPolicy", { type: 0 }).toMatchObject(unknown)
  })

  test("can't be empty if a second factor is required", async () => {
    const refused = { id: "policy.no_factor", message: expect.stringContaining("force_mfa") }
    const forced = { ...passwordLogin, forceMfa: true }
    const add = async (request: object) => call("addCustomLoginPolicy", request)
    await expect(add(forced)).rejects.toMatchObject(refused)
    await expect(add({ ...passwordLogin, forceMfaLocalOnly: true })).rejects.toMatchObject(refused)
    // Recovery codes require another factor.
    await expect(add({ ...forced, secondFactors: [5] })).rejects.toMatchObject(refused)
    await add({ ...forced, secondFactors: [1] })
    const tried = call("removeSecondFactorFromLoginPolicy", otp)
    await expect(tried).rejects.toMatchObject(refused)
    expect(await allowed()).toEqual({ second: [1], multi: [] })
  })

  test("include no foreign identity providers", async () => {
    const tried = call("addCustomLoginPolicy", { ...passwordLogin, idps: [{ idpId: "i1" }] })
    await expect(tried).rejects.toMatchObject({ code: "not_found", id: "idp.missing" })
    const ctx = { resourceOwner: inInstance }
    const { identityProviders } = await estate.as("owner", "getActiveIdentityProviders", { ctx })
    expect(identityProviders).toEqual([])
  })
})

test("administrators can preview the branding before it is activated", async () => {
  const call = (name: string, request = {}) =>
    estate.as("owner", name, request, { of: "management.v1" })
  const colors = async () => [
    (await call("getPreviewLabelPolicy")).policy.primaryColor,
    (await call("getLabelPolicy")).policy.primaryColor,
  ]
  const missing = { code: "not_found", id: "policy.missing" }
  await expect(call("activateCustomLabelPolicy")).rejects.toMatchObject(missing)
  await call("addCustomLabelPolicy", { primaryColor: "#112233" })
  expect(await colors()).toEqual(["#112233", "#5469d4"])
  await call("activateCustomLabelPolicy")
  expect(await colors()).toEqual(["#112233", "#112233"])
  await expect(call("activateCustomLabelPolicy")).rejects.toMatchObject({ id: "policy.unchanged" })
  await call("updateCustomLabelPolicy", { primaryColor: "#445566" })
  expect(await colors()).toEqual(["#445566", "#112233"])
  await call("resetLabelPolicyToDefault")
  expect(await colors()).toEqual(["#5469d4", "#5469d4"])
})

test("the general settings contain the default organization and languages", async () => {
  await estate.as("owner", "setDefaultLanguage", { language: "de" })
  expect(await estate.as("owner", "getGeneralSettings")).toMatchObject({
    defaultOrgId: "org1",
    defaultOrganizationId: "org1",
    defaultLanguage: "de",
    supportedLanguages: pageLanguages,
    allowedLanguages: ["de", ...pageLanguages.filter((each) => each !== "de")],
  })
})

describe("the settings of version 2", () => {
  const settings = policyRows.flatMap((row) => row.settings ?? [])
  const read = async (user: TenantUser, call: string, ctx?: object) =>
    estate.as(user, call, ctx && { ctx: { resourceOwner: ctx } })
  const attempts = async (user: TenantUser, ctx?: object) =>
    (await read(user, "getLockoutSettings", ctx)).settings.maxPasswordAttempts

  test.each([...settings, "getActiveIdentityProviders"])(
    "%s of the instance or without a context needs no instance role",
    async (call) => {
      for (const ctx of [inInstance, { case: undefined }, undefined, inOrg]) {
        await read("manager", call, ctx)
        const refused = { code: "permission_denied", id: "access.denied" }
        await expect(read("nobody", call, ctx)).rejects.toMatchObject(refused)
      }
      await expect(read("stranger", call, inOrg)).rejects.toMatchObject({ id: "org.missing" })
      await expect(read("manager", call, { case: "orgId", value: "" })).rejects.toMatchObject({
        code: "invalid_argument",
        id: "request.resource_missing",
        violation: { field: "ctx.org_id", description: "is empty" },
      })
    },
  )

  test("default to the caller's organization", async () => {
    const own = { maxPasswordAttempts: 7 }
    await estate.as("manager", "addCustomLockoutPolicy", own, { of: "management.v1" })
    await estate.as("owner", "updateLockoutPolicy", { maxPasswordAttempts: 9 }, { of: "admin.v1" })
    expect(await attempts("manager")).toBe(7n)
    expect(await attempts("manager", { case: "instance", value: false })).toBe(7n)
    expect(await attempts("manager", inInstance)).toBe(9n)
    expect(await attempts("stranger")).toBe(9n)
  })
})

test("the instance requires a second factor of managers of all organizations", async () => {
  const flags = async () => {
    const { policy } = await estate.as("owner", "getLoginPolicy", {}, { of: "management.v1" })
    const { settings } = await estate.as("owner", "getLoginSettings", {
      ctx: { resourceOwner: inOrg },
    })
    return { set: policy.forceMfaManagers, applied: settings.forceMfaManagers }
  }
  const set = async (forceMfaManagers: boolean) =>
    estate.as(
      "owner",
      "updateLoginPolicy",
      { ...passwordLogin, forceMfaManagers },
      { of: "admin.v1" },
    )
  await estate.as(
    "owner",
    "addCustomLoginPolicy",
    { ...passwordLogin, allowRegister: true },
    {
      of: "management.v1",
    },
  )
  expect(await flags()).toEqual({ set: false, applied: false })
  await set(true)
  expect(await flags()).toEqual({ set: false, applied: true })
  await set(false)
  expect(await flags()).toEqual({ set: false, applied: false })
})
