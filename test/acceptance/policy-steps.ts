// Requests about policies, sent to two instances, from the shared list of policies.
import { fontWith, onePixel } from "../support/picture.ts"
import { callsOf, type PolicyRow, policyRows } from "../support/policies.ts"
import { admin, changeCallsOf, language, readCallsOf, textRows } from "../support/texts.ts"
import type { Step } from "./instance-steps.ts"

const services = {
  admin: "core.admin.v1.AdminService",
  auth: "core.auth.v1.AuthService",
  management: "core.management.v1.ManagementService",
} as const
type Family = keyof typeof services

const families = ["admin", "management"] as const

/** The API definition capitalizes operation names. */
const step = (family: Family, name: string, request: object = {}): Step => [
  `${services[family]}/${name.charAt(0).toUpperCase()}${name.slice(1)}`,
  request,
]

const familyOf = ({ isNamed }: PolicyRow): Family => (isNamed ? "admin" : "management")
/** The request field that names the organization, if the context doesn't. */
const orgField = ({ isNamed }: PolicyRow) => (isNamed ? { orgId: "org" } : {})
const ofOrg = { ctx: { orgId: "org" } }

const textStep = ([name, request, of]: readonly [string, object, string]): Step =>
  step(of === admin ? "admin" : "management", name, request)

export const policyReadSteps: readonly Step[] = [
  ...policyRows.flatMap((row) => {
    const { get, standard } = callsOf(row)
    const { name, settings, isMine } = row
    return [
      ...families.map((family) => step(family, `get${name}Policy`)),
      step(familyOf(row), get, orgField(row)),
      ...(standard ? [step(familyOf(row), standard)] : []),
      ...(isMine ? [step("auth", `getMy${name}Policy`)] : []),
      ...(settings ? [settingsStep(settings)] : []),
    ]
  }),
  ...families.flatMap((family) => [
    step(family, "listLoginPolicySecondFactors"),
    step(family, "listLoginPolicyMultiFactors"),
    step(family, "getPreviewLabelPolicy"),
  ]),
  ...["getBrandingSettings", "getActiveIdentityProviders"].map(settingsStep),
  ["GetGeneralSettings", {}],
  ...textRows.flatMap((row) => readCallsOf(row).map(textStep)),
  [textMethod("Get"), { instance: true, locale: language }],
  ...["Supported", "Allowed"].map((which) => step("admin", `get${which}Languages`)),
  step("admin", "getDefaultLanguage"),
  step("admin", "listSecretGenerators"),
  step("admin", "getSecretGenerator", { generatorType: 1 }),
]

function textMethod(label: "Get" | "Set"): string {
  return `core.settings.v2.SettingsService/${label}HostedLoginTranslation`
}

function settingsStep(name: string): Step {
  return [`core.settings.v2.SettingsService/${name.charAt(0).toUpperCase()}${name.slice(1)}`, ofOrg]
}

const brandingFiles = ["Logo", "LogoDark", "Icon", "IconDark", "Font"] as const

/** Files are uploaded, requested, and removed. */
const fileSteps = (owner: "Instance" | "Org", removal: string): readonly Step[] =>
  brandingFiles.flatMap((kind): readonly Step[] => {
    const path = kind.replace("Dark", "/dark").toLowerCase()
    const data = (kind === "Font" ? fontWith() : onePixel).toString("base64")
    return [
      [`core.asset.v1.AssetService/Upload${owner}File`, { kind: path, file: { data } }],
      [`core.asset.v1.AssetService/Get${owner}File`, { kind: `${path}/_preview` }],
      [`${removal}${kind}`, {}],
    ]
  })

/** These come last, because policies change what is allowed. */
export const policyChangeSteps: readonly Step[] = [
  step("admin", "addNotificationPolicy", { passwordChange: true }),
  ...policyRows.flatMap((row) => {
    const { add, update, reset } = callsOf(row)
    const { name, instance, own, activates } = row
    const family = familyOf(row)
    return [
      step("admin", `update${name}Policy`, instance),
      ...(activates ? [step("admin", activates.instance)] : []),
      step(family, add, { ...orgField(row), ...own }),
      step(family, update, { ...orgField(row), ...instance }),
      ...(activates ? [step(family, activates.org)] : []),
      step(family, reset, orgField(row)),
      step(family, add, { ...orgField(row), ...own }),
    ]
  }),
  ...fileSteps("Instance", `${services.admin}/RemoveLabelPolicy`),
  ...fileSteps("Org", `${services.management}/RemoveCustomLabelPolicy`),
  ...families.flatMap((family) => [
    step(family, "addSecondFactorToLoginPolicy", { type: 3 }),
    step(family, "removeSecondFactorFromLoginPolicy", { type: 3 }),
  ]),
  // The instance's default allows it, and the organization's policy doesn't.
  step("admin", "removeMultiFactorFromLoginPolicy", { type: 1 }),
  step("admin", "addMultiFactorToLoginPolicy", { type: 1 }),
  step("management", "addMultiFactorToLoginPolicy", { type: 1 }),
  step("management", "removeMultiFactorFromLoginPolicy", { type: 1 }),
  ...textRows.flatMap((row) => changeCallsOf(row).map(textStep)),
  [
    textMethod("Set"),
    { instance: true, locale: language, translations: { password: { title: "Passwort" } } },
  ],
  step("admin", "setDefaultLanguage", { language: "de" }),
  step("admin", "updateSecretGenerator", {
    generatorType: 1,
    length: 9,
    expiry: "3600s",
    includeDigits: true,
  }),
]
