// What two instances are asked and told of their policies, from the one list of policies.
import { fontWith, onePixel } from "../support/picture.ts"
import { callsOf, type PolicyRow, policyRows } from "../support/policies.ts"
import { admin, changesOf, language, looksOf, textRows } from "../support/texts.ts"
import type { Step } from "./instance-steps.ts"

const services = {
  admin: "core.admin.v1.AdminService",
  auth: "core.auth.v1.AuthService",
  management: "core.management.v1.ManagementService",
} as const
type Family = keyof typeof services

const families = ["admin", "management"] as const

/** The book writes the names of operations large. */
const step = (family: Family, name: string, request: object = {}): Step => [
  `${services[family]}/${name.charAt(0).toUpperCase()}${name.slice(1)}`,
  request,
]

const familyOf = ({ isNamed }: PolicyRow): Family => (isNamed ? "admin" : "management")
/** What names the organisation, where it isn't that of the context. */
const named = ({ isNamed }: PolicyRow) => (isNamed ? { orgId: "org" } : {})
const ofOrg = { ctx: { orgId: "org" } }

const textStep = ([name, request, of]: readonly [string, object, string]): Step =>
  step(of === admin ? "admin" : "management", name, request)

export const policyLooks: readonly Step[] = [
  ...policyRows.flatMap((row) => {
    const { get, standard } = callsOf(row)
    const { name, settings, isMine } = row
    return [
      ...families.map((family) => step(family, `get${name}Policy`)),
      step(familyOf(row), get, named(row)),
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
  ...textRows.flatMap((row) => looksOf(row).map(textStep)),
  [translation("Get"), { instance: true, locale: language }],
  ...["Supported", "Allowed"].map((which) => step("admin", `get${which}Languages`)),
  step("admin", "getDefaultLanguage"),
  step("admin", "listSecretGenerators"),
  step("admin", "getSecretGenerator", { generatorType: 1 }),
]

function translation(what: "Get" | "Set"): string {
  return `core.settings.v2.SettingsService/${what}HostedLoginTranslation`
}

function settingsStep(name: string): Step {
  return [`core.settings.v2.SettingsService/${name.charAt(0).toUpperCase()}${name.slice(1)}`, ofOrg]
}

const lookFiles = ["Logo", "LogoDark", "Icon", "IconDark", "Font"] as const

/** Files are sent, asked for, and taken away again. */
const fileSteps = (whose: "Instance" | "Org", removal: string): readonly Step[] =>
  lookFiles.flatMap((kind): readonly Step[] => {
    const path = kind.replace("Dark", "/dark").toLowerCase()
    const data = (kind === "Font" ? fontWith() : onePixel).toString("base64")
    return [
      [`core.asset.v1.AssetService/Upload${whose}File`, { kind: path, file: { data } }],
      [`core.asset.v1.AssetService/Get${whose}File`, { kind: `${path}/_preview` }],
      [`${removal}${kind}`, {}],
    ]
  })

/** What is said changes what may be done, so these come last. */
export const policyChanges: readonly Step[] = [
  step("admin", "addNotificationPolicy", { passwordChange: true }),
  ...policyRows.flatMap((row) => {
    const { add, update, reset } = callsOf(row)
    const { name, instance, own, activates } = row
    const family = familyOf(row)
    return [
      step("admin", `update${name}Policy`, instance),
      ...(activates ? [step("admin", activates.instance)] : []),
      step(family, add, { ...named(row), ...own }),
      step(family, update, { ...named(row), ...instance }),
      ...(activates ? [step(family, activates.org)] : []),
      step(family, reset, named(row)),
      step(family, add, { ...named(row), ...own }),
    ]
  }),
  ...fileSteps("Instance", `${services.admin}/RemoveLabelPolicy`),
  ...fileSteps("Org", `${services.management}/RemoveCustomLabelPolicy`),
  ...families.flatMap((family) => [
    step(family, "addSecondFactorToLoginPolicy", { type: 3 }),
    step(family, "removeSecondFactorFromLoginPolicy", { type: 3 }),
  ]),
  // The instance allows it from the beginning, what the organisation says doesn't.
  step("admin", "removeMultiFactorFromLoginPolicy", { type: 1 }),
  step("admin", "addMultiFactorToLoginPolicy", { type: 1 }),
  step("management", "addMultiFactorToLoginPolicy", { type: 1 }),
  step("management", "removeMultiFactorFromLoginPolicy", { type: 1 }),
  ...textRows.flatMap((row) => changesOf(row).map(textStep)),
  [
    translation("Set"),
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
