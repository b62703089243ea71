// A partial update does not make its caller the author of values that another user set.

import { durationFromMs } from "@bufbuild/protobuf/wkt"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { scriptsFor } from "../../../src/domain/action/run/run.ts"
import { updateIdp } from "../../../src/domain/idp/commands.ts"
import { createRole } from "../../../src/domain/member/custom-role-commands.ts"
import { addMember } from "../../../src/domain/member/index.ts"
import { login, policyFor } from "../../../src/domain/policy/index.ts"
import { renderMessageText } from "../../../src/domain/text/message.ts"
import { addUser } from "../../../src/domain/user/index.ts"
import { isProviderActiveFor } from "../../../src/domain/user-link/commands.ts"
import { humanInput, openTenant, type Tenant, type TenantUser } from "../../support/tenant.ts"
import { callerOf } from "../../support/test-environment.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
  await createRole(estate.cx(), {
    key: "SCRIPTS",
    displayName: "Scripts",
    level: "org",
    permissions: ["org.action.read", "org.action.write"],
  })
  await estate.step((tx) => {
    addUser(tx, "settings", humanInput("settings", "org1"))
    addMember(tx, {
      userId: "settings",
      target: { level: "org", id: "org1" },
      roles: ["ORG_SETTINGS_MANAGER", "SCRIPTS"],
    })
  })
})
afterEach(() => estate.close())

/** Calls an operation of an organization. */
const as = (person: TenantUser, name: string, request: object) =>
  estate.as(person, name, request, { of: "management" })

/** Calls as an administrator with fewer permissions than the manager and the owner. */
const asNarrow = (name: string, request: object) =>
  estate.as("nobody", name, request, {
    of: "management",
    cx: { caller: callerOf("settings", "org1") },
  })

const withMask = (...paths: string[]) => ({ updateMask: { paths } })

const people = ["nobody", "settings", "manager", "owner"] as const
const belowAuthor = ["nobody", "settings"]

describe("an identity provider", () => {
  const acme = {
    name: "Acme",
    issuer: "https://idp.example.com",
    clientId: "client",
    clientSecret: "s3cret",
    scopes: [],
    usePkce: true,
    providerOptions: { isLinkingAllowed: true },
  }
  let id: string
  const admitted = () => people.filter((userId) => isProviderActiveFor(estate.cx(), id, userId))
  beforeEach(async () => {
    await as("owner", "addCustomLoginPolicy", {
      allowExternalIdp: true,
      allowUsernamePassword: true,
    })
    id = (await as("owner", "addGenericOIDCProvider", acme)).id
    await as("owner", "addIDPToLoginPolicy", { idpId: id })
    await asNarrow("updateGenericOIDCProvider", {
      ...acme,
      id,
      issuer: "https://other.example.com",
    })
    expect(admitted()).toEqual(belowAuthor)
  })

  test("keeps the author of its endpoints when another user changes its name", async () => {
    const renamed = { id, name: "Renamed", ...withMask("name") }
    await as("owner", "updateGenericOIDCProvider", renamed)
    expect(admitted()).toEqual(belowAuthor)
    await updateIdp(estate.cx({ caller: { kind: "system", name: "operator" } }), "org1", id, {
      kind: "oidc",
      say: (before) => ({ ...before, name: "Again" }),
    })
    expect(admitted()).toEqual(belowAuthor)
    const same = as("owner", "updateGenericOIDCProvider", { ...renamed, name: "Again" })
    await expect(same).rejects.toMatchObject({ id: "idp.unchanged" })
  })

  test("has one author again once all values are set", async () => {
    await as("owner", "updateGenericOIDCProvider", { id, name: "Renamed", ...withMask("name") })
    await as("owner", "updateGenericOIDCProvider", { ...acme, id })
    expect(admitted()).toEqual([...people])
  })
})

describe("a sign-in policy", () => {
  const isHiddenFor = () =>
    people.filter(
      (userId) => policyFor(estate.cx(), { userId, orgId: "org1" }, login).hidePasswordReset,
    )
  beforeEach(async () => {
    await asNarrow("addCustomLoginPolicy", { hidePasswordReset: true, allowUsernamePassword: true })
    expect(isHiddenFor()).toEqual(belowAuthor)
  })

  test("keeps its author when another user changes one value", async () => {
    await as("owner", "updateCustomLoginPolicy", {
      allowRegister: true,
      ...withMask("allow_register"),
    })
    expect(isHiddenFor()).toEqual(belowAuthor)
    await as("owner", "addSecondFactorToLoginPolicy", { type: 1 })
    expect(isHiddenFor()).toEqual(belowAuthor)
  })

  test("has one author again once somebody states all of it", async () => {
    await as("owner", "updateCustomLoginPolicy", {
      hidePasswordReset: true,
      allowUsernamePassword: true,
      allowRegister: true,
    })
    expect(isHiddenFor()).toEqual([...people])
  })
})

test("a message keeps the author of its subject when another user changes the greeting", async () => {
  const asked = { language: "en" }
  await asNarrow("setCustomPasswordResetMessageText", { ...asked, subject: "Of the author" })
  await as("owner", "setCustomPasswordResetMessageText", {
    ...asked,
    greeting: "Hello",
    ...withMask("greeting"),
  })
  const subjectFor = (userId: string) =>
    renderMessageText(
      estate.cx(),
      { kind: "password_reset", orgId: "org1", userId, language: "en" },
      {
        Code: "C",
        Expiry: 60,
      } as never,
    ).subject
  expect(people.filter((userId) => subjectFor(userId) === "Of the author")).toEqual(belowAuthor)
})

describe("a script", () => {
  const moment = { orgId: "org1", flowType: 2, triggerType: 4 } as const
  const fields = {
    name: "note",
    script: "function note() {}",
    timeout: durationFromMs(1000),
    allowedToFail: true,
  }
  let id: string
  const runsFor = () =>
    people.filter((userId) => scriptsFor(estate.cx(), { ...moment, userId }).length > 0)
  beforeEach(async () => {
    id = (await asNarrow("createAction", fields)).id
    await as("owner", "setTriggerActions", { flowType: "2", triggerType: "4", actionIds: [id] })
    expect(runsFor()).toEqual(belowAuthor)
  })

  test("keeps its author when another user changes its timeout", async () => {
    await as("owner", "updateAction", {
      id,
      timeout: durationFromMs(2000),
      ...withMask("timeout"),
    })
    expect(runsFor()).toEqual(belowAuthor)
  })

  test("keeps its author when another user activates it", async () => {
    await asNarrow("deactivateAction", { id })
    await as("owner", "reactivateAction", { id })
    expect(runsFor()).toEqual(belowAuthor)
  })

  test("has one author again once somebody states all of it", async () => {
    await as("owner", "updateAction", { ...fields, id, script: "function note() { return }" })
    expect(runsFor()).toEqual([...people])
  })
})
