import { generateKeyPairSync } from "node:crypto"
import { afterEach, beforeEach, expect, test } from "vitest"
import { addAction } from "../../../src/domain/action/index.ts"
import { addAppKey } from "../../../src/domain/app/index.ts"
import { addGroupAuthorization } from "../../../src/domain/authorization/group/commands.ts"
import { addAuthorization } from "../../../src/domain/authorization/index.ts"
import { activateWebKey, createWebKey } from "../../../src/domain/key/commands.ts"

import { org } from "../../../src/domain/org/index.ts"
import { addGrant } from "../../../src/domain/project-grant/index.ts"
import { createSignUpLink } from "../../../src/domain/sign-up/link.ts"
import { signUpRequest } from "../../../src/domain/sign-up/model.ts"
import { target } from "../../../src/domain/target/model.ts"
import { addUser } from "../../../src/domain/user/index.ts"
import { neverExpires } from "../../../src/kernel/crypto/signing-key.ts"
import { createGroups, groupChanges, groupReads } from "../../support/group-rows.ts"
import { fontWith, onePixel } from "../../support/picture.ts"
import { callsOf, messageOf, policyRows } from "../../support/policies.ts"
import { humanInput, openTenant, operationNames, type Tenant } from "../../support/tenant.ts"
import {
  changeCallsOf,
  readCallsOf,
  textRows,
  translationChange,
  translationRead,
} from "../../support/texts.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant(["i1", "i2"])
  for (const instance of ["i1", "i2"]) {
    await callIn(instance, "createProject", {
      organizationId: "org1",
      projectId: "p1",
      name: `Project of ${instance}`,
    })
    await callIn(instance, "createApplication", {
      projectId: "p1",
      applicationId: "a1",
      name: `Application of ${instance}`,
      applicationType: { case: "api", value: {} },
    })
    await callIn(instance, "createApplication", {
      projectId: "p1",
      applicationId: "a2",
      name: `Page of ${instance}`,
      applicationType: { case: "oidc", value: {} },
    })
    const { id: webKeyId } = await createWebKey(estate.cx({ instance }), { kind: "ed25519" })
    await activateWebKey(estate.cx({ instance }), webKeyId)
    for (const keyId of ["k1", "k2"]) {
      const key = { keyId, publicKey: `key of ${instance}`, expires: neverExpires }
      await estate.step((tx) => addAppKey.within(tx, "a1", key), { instance })
    }
    await createGroups((name, request) => callIn(instance, name, request), instance)
    const a3 = { groupId: "g3", projectId: "p1", orgId: "org1", roleKeys: [] }
    await estate.step((tx) => addGroupAuthorization(tx, "a3", a3), { instance })
    const terms = { orgId: "org1", useLimit: 5, expires: estate.clock.now() + 5000, domains: [] }
    await createSignUpLink(estate.cx({ instance }), "l1", terms)
    for (const id of ["q1", "q2"]) await addWaiting(instance, id)
    const domain = "proven.example"
    await estate.step(
      (tx) =>
        tx.append(org, "org1", [
          { type: "org.domain.added", data: { domain } },
          { type: "org.domain.verified", data: { domain, isGenerated: true } },
        ]),
      { instance },
    )
    const named = { ...humanInput("anna", "org1"), userName: `anna@${unverifiedDomain}` }
    await estate.step((tx) => addUser(tx, "anna", named), { instance })
    await callIn(instance, "addApplicationAssignments", { ...a1, userIds: ["anna"] })
    const u1 = { projectId: "p1", orgId: "org1", userId: "nobody", roleKeys: [] }
    await estate.step((tx) => addAuthorization(tx, "u1", u1), { instance })
    const script = {
      name: `script_of_${instance}`,
      script: "0",
      timeoutMs: 0,
      allowedToFail: false,
    }
    for (const id of ["s1", "s2"]) {
      const own = { ...script, orgId: "org1", name: `${id}_${script.name}` }
      await estate.step((tx) => addAction(tx, id, own), { instance })
    }
    await callIn(instance, "setTriggerActions", { ...trigger, actionIds: ["s1"] })
    for (const id of ["t1", "t2"]) {
      const added = { ...webhook, name: `Target of ${instance}` }
      const key = { keyId: "k1", pem: `key of ${instance}`, fingerprint: "SHA256:1", expires: 0 }
      await estate.step(
        (tx) =>
          tx.append(target, id, [
            { type: "target.added", data: added, private: { sealed: "" } },
            { type: "target.public_key.added", data: key },
          ]),
        { instance },
      )
    }
    await callIn(instance, "setExecution", { condition: atUserinfo, targets: ["t1"] })
    const g1 = { projectId: "p1", grantedOrgId: "org2", roleKeys: [] }
    await estate.step((tx) => addGrant(tx, "g1", g1), { instance })
  }
})
afterEach(() => estate.close())

/** The system's own operations name the instance; their callers use the first one. */
const callIn = (instance: string, name: string, request: object = {}, of = "") =>
  systemOnly.has(name)
    ? estate.as("system", name, { ...request, instanceId: instance })
    : estate.as("owner", name, request, { of, cx: { instance } })

async function addWaiting(instance: string, id: string): Promise<void> {
  const email = `${id}@example.com`
  const applicant = { email, givenName: `Of ${instance}`, familyName: "B", language: "" }
  const data = { orgId: "org1", expires: estate.clock.now() + 1_000_000 }
  const added = { type: "sign_up_request.added", data, private: applicant } as const
  await estate.step((tx) => tx.append(signUpRequest, id, [added], "org1"), { instance })
}

const org2 = { organizationId: "org2" }
/** The suffix of a user's name, so that the domain must be verified. */
const unverifiedDomain = "used.example"
const p1 = { projectId: "p1" }
const trigger = { flowType: "2", triggerType: "4" }
const webhook = {
  ...({ targetType: "webhook", payloadType: "json" } as const),
  endpoint: "https://hook.example.com",
  timeoutMs: 1000,
  interruptOnError: true,
}
const restHook = {
  name: "New",
  endpoint: "https://new.example.com",
  timeout: { seconds: 1n },
  targetType: { case: "restWebhook", value: {} },
}
const atUserinfo = { conditionType: { case: "function", value: { name: "preuserinfo" } } }
const inT1 = { targetId: "t1", keyId: "k1" }
const { publicKey: pem } = generateKeyPairSync("ec", { namedCurve: "P-256" })
const publicKey = new Uint8Array(Buffer.from(pem.export({ type: "spki", format: "pem" })))
const a1 = { applicationId: "a1", projectId: "p1" }
const a1V1 = { appId: "a1", projectId: "p1" }
const g1 = { projectId: "p1", grantedOrganizationId: "org2" }
const helper = { key: "HELPER", displayName: "New" }
const byId = { projectId: "p1", grantId: "g1" }
const membership = { userId: "nobody", resource: { resource: { case: "projectId", value: "p1" } } }

const inOrg1 = { ctx: { resourceOwner: { case: "orgId", value: "org1" } } }
const hour = { expiry: { seconds: 3600n } }
const eddsa = { idTokenSigningAlgorithm: "EdDSA", accessTokenSigningAlgorithm: "EdDSA" }
const lifetimes = {
  ...eddsa,
  idTokenLifetime: { seconds: 3600n },
  refreshTokenIdleExpiration: { seconds: 86_400n },
  refreshTokenExpiration: { seconds: 604_800n },
}
const quota = { unit: 1, from: { seconds: 0n }, resetInterval: { seconds: 3600n } }

const file = { data: onePixel }
const lookFiles = ["Logo", "LogoDark", "Icon", "IconDark", "Font"] as const

/** Files are uploaded, requested, and removed. */
const fileChanges = (upload: string, get: string, remove: string) =>
  lookFiles.flatMap((kind): readonly (readonly [string, object, string?])[] => {
    const path = kind.replace("Dark", "/dark").toLowerCase()
    return [
      [upload, { kind: path, file: kind === "Font" ? { data: fontWith() } : file }],
      [get, { kind: `${path}/_preview` }],
      [`${remove}${kind}`, {}],
    ]
  })

/** All operations of these modules that changes something, in an order that lets each succeed. */
const imported = {
  data: {
    case: "dataOrgs",
    value: {
      orgs: [
        { orgId: "taken", org: { name: "Taken" } },
        { orgId: "org1", projects: [{ projectId: "taken", project: { name: "Taken" } }] },
      ],
    },
  },
}

const changes: readonly (readonly [string, object, string?])[] = [
  ...fileChanges("uploadInstanceFile", "getInstanceFile", "removeLabelPolicy"),
  ["addCustomLabelPolicy", { primaryColor: "#112233" }],
  ...fileChanges("uploadOrgFile", "getOrgFile", "removeCustomLabelPolicy"),
  ["resetLabelPolicyToDefault", {}],
  ["uploadMyAvatar", { file }],
  ["getMyAvatar", {}],
  ["addOrganization", { name: "New", organizationId: "org3" }],
  ["importData", imported],
  ["exportData", { orgIds: ["org1", "taken"], withPasswords: true }],
  ["updateOrganization", { ...org2, name: "Other" }],
  ["deactivateOrganization", org2],
  ["activateOrganization", org2],
  ["setOrganizationMetadata", { ...org2, metadata: [{ key: "plan", value: new Uint8Array(1) }] }],
  ["deleteOrganizationMetadata", { ...org2, keys: ["plan"] }],
  ["addOrganizationDomain", { organizationId: "org1", domain: "example.org" }],
  ["verifyOrganizationDomain", { organizationId: "org1", domain: "proven.example" }],
  ["setPrimaryOrgDomain", { domain: "proven.example" }],
  ["addOrganizationDomain", { ...org2, domain: unverifiedDomain }],
  ["generateOrganizationDomainValidation", { ...org2, domain: unverifiedDomain, type: 1 }],
  ["deleteOrganizationDomain", { ...org2, domain: unverifiedDomain }],
  ["setDefaultOrg", { orgId: "org3" }],
  ["setDefaultOrg", { orgId: "org1" }],
  ["deleteOrganization", { organizationId: "org3" }],
  ["updateProject", { ...p1, name: "Other" }],
  ["deactivateProject", p1],
  ["activateProject", p1],
  ["undoChange", { resource: { resource: { case: "projectId", value: "p1" } }, sequence: 2n }],
  ["addProject", { name: "Older" }, "v1"],
  ["updateProject", { id: "p1", name: "Older" }, "v1"],
  ["deactivateProject", { id: "p1" }, "v1"],
  ["reactivateProject", { id: "p1" }, "v1"],
  ["createAuthorization", { ...p1, organizationId: "org1", userId: "manager" }],
  ["updateAuthorization", { id: "u1", roleKeys: [] }],
  ["deactivateAuthorization", { id: "u1" }],
  ["activateAuthorization", { id: "u1" }],
  ["deleteAuthorization", { id: "u1" }],
  ["addProjectRole", { ...p1, roleKey: "r1", displayName: "One" }],
  ["updateProjectGrant", { ...g1, roleKeys: ["r1"] }],
  ["deactivateProjectGrant", g1],
  ["activateProjectGrant", g1],
  ["deleteProjectGrant", g1],
  ["createProjectGrant", g1],
  ["updateProjectRole", { ...p1, roleKey: "r1", displayName: "Other" }],
  ["removeProjectRole", { ...p1, roleKey: "r1" }],
  ["addProjectRole", { ...p1, roleKey: "r2", displayName: "Two" }, "v1"],
  ["bulkAddProjectRoles", { ...p1, roles: [{ key: "r3", displayName: "Three" }] }],
  ["updateProjectRole", { ...p1, roleKey: "r2", displayName: "Older" }, "v1"],
  ["removeProjectRole", { ...p1, roleKey: "r2" }, "v1"],
  ["createAction", { name: "third", script: "0" }],
  ["tryScript", { ...trigger, organizationId: "org1", name: "f", script: "0", userId: "anna" }],
  ["updateAction", { id: "s1", name: "other", script: "1" }],
  ["deactivateAction", { id: "s1" }],
  ["reactivateAction", { id: "s1" }],
  ["setTriggerActions", { ...trigger, actionIds: ["s2", "s1"] }],
  ["clearFlow", { type: "2" }],
  ["setTriggerActions", { ...trigger, actionIds: ["s2"] }],
  ["deleteAction", { id: "s2" }],
  ["createTarget", restHook],
  ["createTarget", { target: restHook }, "v3alpha"],
  ["updateTarget", { id: "t1", name: "Other" }],
  ["patchTarget", { id: "t1", target: { name: "Older" } }],
  ["addPublicKey", { targetId: "t1", publicKey }],
  ["activatePublicKey", inT1],
  ["deactivatePublicKey", inT1],
  ["removePublicKey", inT1],
  ["setExecution", { condition: atUserinfo, targets: ["t2", "t1"] }],
  ["setExecution", { condition: atUserinfo, execution: { targets: [] } }, "v3alpha"],
  ["deleteTarget", { id: "t1" }],
  ["deleteTarget", { id: "t2" }, "v3alpha"],
  ["createRole", { ...helper, level: 2, permissions: ["user.read"] }],
  ["updateRole", { key: "HELPER", displayName: "Other" }],
  ["deleteRole", { key: "HELPER" }],
  ...groupChanges,
  [
    "createSignUpLink",
    { organizationId: "org1", useLimit: 1, expirationDate: { seconds: 1_767_400_000n } },
  ],
  ["revokeSignUpLink", { id: "l1" }],
  ["approveSignUpRequest", { id: "q1" }],
  ["refuseSignUpRequest", { id: "q2" }],
  ["updateInstance", { instanceName: "Other" }],
  ["addTrustedDomain", { trustedDomain: "t.example.org" }],
  ["removeTrustedDomain", { trustedDomain: "t.example.org" }],
  ["addCustomDomain", { customDomain: "c.example.org" }],
  ["removeCustomDomain", { customDomain: "c.example.org" }],
  ["addCustomDomain", { customDomain: "d.example.org" }],
  ["setPrimaryDomain", { domain: "d.example.org" }],
  ["addQuota", { ...quota, amount: 1n }],
  ["setQuota", { ...quota, amount: 2n }],
  ["removeQuota", { unit: 1 }],
  ["setLimits", { block: true }],
  ["resetLimits", {}],
  ["setInstanceFeatures", { userSchema: true }],
  ["resetInstanceFeatures", {}],
  ["setInstanceFeature", { featureId: 1, value: { case: "bool", value: false } }],
  ["activateFeatureLoginDefaultOrg", {}],
  ...["setOrganizationFeatures", "resetOrganizationFeatures"].map((name) => [name, org2] as const),
  ...["setUserFeatures", "resetUserFeatures"].map((name) => [name, { userId: "nobody" }] as const),
  ["addNotificationPolicy", { passwordChange: true }],
  ...policyRows.flatMap((row) => {
    const { of, more, ...calls } = callsOf(row)
    const own = { ...more, ...messageOf(row.own) }
    return [
      [`update${row.name}Policy`, messageOf(row.instance), "admin.v1"] as const,
      ...(row.activates ? [[row.activates.instance, {}, "admin.v1"] as const] : []),
      [calls.add, own, of] as const,
      [calls.update, { ...more, ...messageOf(row.instance) }, of] as const,
      ...(row.activates ? [[row.activates.org, {}, of] as const] : []),
      [calls.reset, more, of] as const,
      [calls.add, own, of] as const,
    ]
  }),
  ...["admin.v1", "management.v1"].flatMap((of) => [
    ["addSecondFactorToLoginPolicy", { type: 3 }, of] as const,
    ["removeSecondFactorFromLoginPolicy", { type: 3 }, of] as const,
    ["removeMultiFactorFromLoginPolicy", { type: 1 }, "admin.v1"] as const,
    ["addMultiFactorToLoginPolicy", { type: 1 }, "admin.v1"] as const,
  ]),
  ...textRows.flatMap(changeCallsOf),
  translationChange,
  ["setDefaultLanguage", { language: "de" }],
  ["updateSecretGenerator", { generatorType: 1, length: 9, ...hour, includeDigits: true }],
  ["addOIDCSettings", { ...lifetimes, accessTokenLifetime: { seconds: 600n } }],
  ["updateOIDCSettings", { ...lifetimes, accessTokenLifetime: { seconds: 900n } }],
  ["setRestrictions", { allowedLanguages: { list: ["de"] } }],
  ["setSecurityPolicy", { enableImpersonation: true }],
  ["setSecuritySettings", { enableImpersonation: false }],
  ["updateApplication", { ...a1, name: "Other" }],
  ["deactivateApplication", a1],
  ["reactivateApplication", a1],
  ["generateClientSecret", a1],
  ["removeClientSecret", { ...a1, secretId: "0" }],
  ["createApplicationKey", a1],
  ["deleteApplicationKey", { ...a1, keyId: "k1" }],
  ["addAppKey", { ...a1V1, type: 1 }],
  ["removeAppKey", { ...a1V1, keyId: "k2" }],
  ["regenerateAPIClientSecret", a1V1],
  ["regenerateOIDCClientSecret", { ...a1V1, appId: "a2" }],
  ["createAdministrator", { ...membership, roles: ["PROJECT_OWNER"] }],
  ["updateAdministrator", { ...membership, roles: ["PROJECT_OWNER_VIEWER"] }],
  ["deleteAdministrator", membership],
  ["deleteApplication", a1],
  ["deleteProject", p1],
  ["createProject", { organizationId: "org1", projectId: "p2", name: "Two" }],
  ["removeProject", { id: "p2" }, "v1"],
  ["deleteInstance", {}],
]

const readOperations: readonly (readonly [string, object, string?])[] = [
  ["getInstance", {}],
  ["getMyInstance", {}],
  ["listCustomDomains", {}],
  ["listTrustedDomains", {}],
  ["listIAMMembers", {}],
  ["getInstanceFeatures", {}],
  ["getOrganizationFeatures", org2],
  ["getUserFeatures", { userId: "nobody" }],
  ["getIAM", {}],
  ["getOIDCInformation", {}],
  ["getSecurityPolicy", {}],
  ["getOIDCSettings", {}],
  ["getRestrictions", {}],
  ["getSecuritySettings", {}],
  ...policyRows.flatMap((row) => {
    const { of, more, ...calls } = callsOf(row)
    const { name, settings, isMine } = row
    return [
      [`get${name}Policy`, {}, "admin.v1"] as const,
      [`get${name}Policy`, {}, "management.v1"] as const,
      [calls.get, more, of] as const,
      ...(calls.standard ? [[calls.standard, {}] as const] : []),
      ...(isMine ? [[`getMy${name}Policy`, {}] as const] : []),
      ...(settings ? [[settings, inOrg1] as const] : []),
    ]
  }),
  ...["admin.v1", "management.v1"].flatMap((of) =>
    ["SecondFactors", "MultiFactors"].map((list) => [`listLoginPolicy${list}`, {}, of] as const),
  ),
  ...textRows.flatMap(readCallsOf),
  translationRead,
  ["getPreviewLabelPolicy", {}, "admin.v1"],
  ["getPreviewLabelPolicy", {}, "management.v1"],
  ["getBrandingSettings", inOrg1],
  ["getGeneralSettings", {}],
  ["getSupportedLanguages", {}],
  ["getAllowedLanguages", {}],
  ["getDefaultLanguage", {}],
  ["listSecretGenerators", {}],
  ["getSecretGenerator", { generatorType: 1 }],
  ["listInstanceDomains", {}],
  ["listOrganizations", {}],
  ["getMyOrg", {}],
  ["getOrgByDomainGlobal", { domain: "acme.id.example.com" }],
  ["listOrganizationDomains", { organizationId: "org1" }],
  ["listOrganizationMetadata", org2],
  ["listOrgMemberRoles", {}],
  ["listIAMMemberRoles", {}],
  ["listMyProjectOrgs", {}],
  ["listProjects", {}],
  ["listProjects", {}, "v1"],
  ["getProject", p1],
  ["getProjectByID", { id: "p1" }],
  ["listAuthorizations", {}],
  ["listProjectGrants", {}],
  ["listGrantedProjects", {}],
  ["getGrantedProjectByID", byId],
  ["listGrantedProjectRoles", byId],
  ["listProjectMemberRoles", {}],
  ["listProjectGrantMemberRoles", {}],
  ["listProjectRoles", p1],
  ["listProjectRoles", p1, "v1"],
  ["listApplications", {}],
  ["getApplication", { applicationId: "a1" }],
  ["getBackChannelLogoutStatus", { projectId: "p1", applicationId: "a2" }],
  ["listClientSecrets", a1],
  ["listApplicationKeys", {}],
  ["getApplicationKey", { keyId: "k1" }],
  ["listAppKeys", a1V1],
  ["getAppKey", { ...a1V1, keyId: "k1" }],
  ["listAdministrators", {}],
  ["listMyCorePermissions", {}],
  ["listMyMemberships", {}],
  ["listRoles", {}],
  ["listUserChanges", { userId: "nobody" }],
  ["listOrgChanges", {}],
  ["listProjectChanges", p1],
  ["listAppChanges", a1V1],
  ["listProjectGrantChanges", byId],
  ["listMyUserChanges", {}],
  ["listEvents", { limit: 1000 }],
  ["listChanges", { resource: { resource: { case: "projectId", value: "p1" } } }],
  [
    "getPermissionReason",
    {
      userId: "manager",
      subject: { case: "operation", value: "core.project.v2.ProjectService/UpdateProject" },
      id: "p1",
    },
  ],
  ["getEntryReason", { userId: "nobody", applicationId: "a1" }],
  ["getDifferences", { resource: { resource: { case: "projectId", value: "p1" } } }],
  ["getUndo", { resource: { resource: { case: "projectId", value: "p1" } }, sequence: 1n }],
  ["listEventTypes", {}],
  ["listAggregateTypes", {}],
  ["listFailedEvents", {}, "admin.v1"],
  ["listMilestones", {}],
  ["getAction", { id: "s1" }],
  ["listActions", {}],
  ["listFlowTypes", {}],
  ["listFlowTriggerTypes", { type: "2" }],
  ["getFlow", { type: "2" }],
  ["listScriptRuns", {}],
  ["listScriptMoments", {}],
  ["getTarget", { id: "t1" }],
  ["getTarget", { id: "t1" }, "v3alpha"],
  ["listTargets", {}],
  ["searchTargets", {}],
  ["listPublicKeys", { targetId: "t1" }],
  ["listExecutions", {}],
  ["searchExecutions", {}],
  ...["", "v3alpha"].flatMap((of) =>
    ["Functions", "Methods", "Services"].map(
      (description) => [`listExecution${description}`, {}, of] as const,
    ),
  ),
  ["listTargetCalls", {}],
  ["listSignUpLinks", {}],
  ["listSignUpRequests", {}],
  ...groupReads,
]

/** Only callers who manage several instances can call these. */
const systemOnly = new Set([
  "addCustomDomain",
  "deleteInstance",
  "listIAMMembers",
  "removeCustomDomain",
  "setInstanceFeature",
  "setPrimaryDomain",
  "addQuota",
  "setQuota",
  "removeQuota",
  "setLimits",
  "resetLimits",
])

/** Operations on all instances at once, without a part for a single one. */
const globalOperations = [
  "bulkSetLimits",
  "createInstance",
  "existsDomain",
  "getSystemFeatures",
  "listInstances",
  "resetSystemFeatures",
  "setSystemFeatures",
  "removeFailedEvent",
  "retryFailedEvents",
  "retrySystemFailedEvents",
  "listViews",
  "clearView",
  "listNodes",
]

test("covers every operation of these modules", () => {
  const named = [...changes, ...readOperations].map(([name]) => name)
  const tried = new Set(["createApplication", ...named, ...globalOperations])
  const remedy = "add a row to changes, or to looks where it changes nothing"
  expect(
    [...operationNames].filter((name) => !tried.has(name)),
    remedy,
  ).toEqual([])
})

test("changes one of two instances with equal IDs, and not the other", async () => {
  const seen = async () =>
    JSON.stringify(
      await Promise.all(
        readOperations.map(([name, request, of]) => callIn("i1", name, request, of)),
      ),
      // The position of the log is shared by all instances.
      (key, value) => (key === "processedSequence" ? undefined : printable(value)),
    )
  const before = await seen()
  expect(before).toContain("Project of i1")
  expect(before).not.toContain("of i2")
  for (const [name, request, of] of changes) await callIn("i2", name, request, of)
  expect(await seen()).toBe(before)
})

test("shared servers are shown to neither instance", async () => {
  await expect(callIn("i1", "listNodes", {})).rejects.toMatchObject({ id: "history.nodes_shared" })
})

const printable = (value: unknown) => (typeof value === "bigint" ? `${value}` : value)
