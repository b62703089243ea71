// Two changes for each update of the API, by two administrators.
import type { JsonObject } from "@bufbuild/protobuf"
import type { Row } from "../scenario/row.ts"
import { rows } from "../scenario/rows/index.ts"
import { methods } from "../scenario/run.ts"

export type UpdateRow = {
  /** Prepares the update and makes the first change. */
  readonly row: Row
  readonly one: JsonObject
  readonly two: JsonObject
}

type Changes = readonly [one: JsonObject, two: JsonObject]

const exampleUri = (name: string) => `https://${name}.example.com`
const profiles = (of: (profile: JsonObject) => JsonObject): Changes => [
  of({ givenName: "One", familyName: "King" }),
  of({ givenName: "Two", familyName: "King" }),
]
const redirects = (name: string) => ({
  oidcConfiguration: { redirectUris: [exampleUri("app"), exampleUri(name)] },
})
const translations = (title: string) => ({ translations: { password: { title } } })
/** `value` in base64. */
const metadataOf = (value: string) => ({ metadata: [{ key: "shoe", value }] })
const lifetimes: Changes = [{ accessTokenLifetime: "7200s" }, { idTokenLifetime: "7200s" }]

/** The first matching entry by operation name applies. */
const updateChanges: readonly (readonly [operation: RegExp, changes: Changes])[] = [
  [/PasswordComplexityPolicy$/, [{ hasSymbol: true }, { minLength: 12 }]],
  [/LockoutPolicy$/, [{ maxPasswordAttempts: 7 }, { maxOtpAttempts: 8 }]],
  [/PasswordAgePolicy$/, [{ maxAgeDays: 100 }, { expireWarnDays: 5 }]],
  [/PrivacyPolicy$/, [{ helpLink: exampleUri("help") }, { docsLink: exampleUri("docs") }]],
  [/NotificationPolicy$/, [{ passwordChange: true }, { newDevice: true }]],
  [/DomainPolicy$/, [{ validateOrgDomains: true }, { userLoginMustBeDomain: false }]],
  [/LabelPolicy$/, [{ warnColor: "#bb0000" }, { disableWatermark: true }]],
  [/CustomLoginPolicy$/, [{ allowDomainDiscovery: true }, { allowRegister: false }]],
  [/LoginPolicy$/, [{ forceMfa: true }, { allowRegister: false }]],
  [/SecretGenerator$/, [{ length: 12 }, { includeUpperLetters: true }]],
  [/UpdateSMTPConfig$|ProviderSMTP$/, [{ senderName: "One" }, { replyToAddress: "two@acme.com" }]],
  [/ProviderHTTP$/, [{ endpoint: exampleUri("one") }, { description: "Two" }]],
  [/ProviderTwilio$/, [{ senderNumber: "+41790000000" }, { description: "Two" }]],
  [/SMSOTPMessageText$/, [{ text: "One {{.OTP}}" }, { text: "Two {{.OTP}}" }]],
  [/Message(Custom)?Text$/, [{ title: "One" }, { subject: "Two" }]],
  [/CustomLoginText$/, [{ loginText: { title: "One" } }, { passwordText: { title: "Two" } }]],
  [/Update\w+Provider$/, [{ name: "One" }, { providerOptions: { isCreationAllowed: true } }]],
  [/UpdateMyProfile$/, [{ nickName: "One" }, { preferredLanguage: "de" }]],
  [
    /ManagementService\/UpdateProject$/,
    [{ projectRoleAssertion: true }, { projectRoleCheck: true }],
  ],
  [/ManagementService\/UpdateProjectRole$/, [{ displayName: "One" }, { group: "two" }]],
  [/UpdateAction$/, [{ script: "function greet() {} // 1" }, { allowedToFail: true }]],
  [/SetSecurityPolicy$/, [{ allowedOrigins: [exampleUri("one")] }, { enableImpersonation: false }]],
  [
    /SetSecuritySettings$/,
    [{ embeddedIframe: { allowedOrigins: [exampleUri("one")] } }, { enableImpersonation: false }],
  ],
  [/SetQuota$/, [{ amount: "200" }, { limit: false }]],
  [/Update(Group)?Authorization$|UpdateProjectGrant$/, [{ roleKeys: [] }, { roleKeys: ["$role"] }]],
  [/UpdateGroup$/, [{ description: "One" }, { description: "Two" }]],
  [
    /Update(Group)?Administrator$/,
    [{ roles: ["ORG_USER_MANAGER"] }, { roles: ["ORG_OWNER_VIEWER"] }],
  ],
  [/UpdateRole$/, [{ permissions: ["org.read", "user.read"] }, { permissions: ["user.read"] }]],
  [/SetTriggerActions$/, [{ actionIds: [] }, { actionIds: ["$action"] }]],
  [/UpdateApplication$/, [redirects("one"), redirects("two")]],
  [/UpdateOIDCSettings$/, lifetimes],
  [
    /SetRestrictions$/,
    [{ disallowPublicOrgRegistration: true }, { allowedLanguages: { list: ["de"] } }],
  ],
  [/Features$/, [{ userSchema: false }, { userSchema: true }]],
  [/UpdateOrganization$|v2.ProjectService\/UpdateProject$/, [{ name: "One" }, { name: "Two" }]],
  [/UpdateInstance$/, [{ instanceName: "One" }, { instanceName: "Two" }]],
  [/v2.ProjectService\/UpdateProjectRole$/, [{ displayName: "One" }, { displayName: "Two" }]],
  [/UpdateTarget$/, [{ endpoint: exampleUri("one") }, { timeout: "7s" }]],
  [/PatchTarget$/, [{ target: { endpoint: exampleUri("one") } }, { target: { timeout: "7s" } }]],
  [/v2.ActionService\/SetExecution$/, [{ targets: [] }, { targets: ["$target"] }]],
  [
    /CoreActions\/SetExecution$/,
    [{ execution: { targets: [] } }, { execution: { targets: [{ target: "$target" }] } }],
  ],
  [/SetHostedLoginTranslation$/, [translations("One"), translations("Two")]],
  [/UpdateUser$/, profiles((profile) => ({ human: { profile } }))],
  [/UpdateHumanUser$/, profiles((profile) => ({ profile }))],
  [/SetEmail$/, [{ email: "one@acme.com" }, { email: "two@acme.com" }]],
  [/SetPhone$/, [{ phone: "+41790000001" }, { phone: "+41790000002" }]],
  [/SetUserMetadata$/, [metadataOf("b25l"), metadataOf("dHdv")]],
]

/** The updates that have a field, each with the first scenario row in which it succeeds. */
export function updatesWith(field: string): readonly UpdateRow[] {
  const all: readonly Row[] = Object.values(rows).flat()
  return [...methods]
    .filter(([, { input }]) => input.fields.some(({ name }) => name === field))
    .map(([call]) => {
      const [, both] = updateChanges.find(([operation]) => operation.test(call)) ?? []
      const row = all.find((each) => {
        const isDone = each.code === undefined && (each.events ?? []).length > 0
        return each.call === call && isDone
      })
      if (!both || !row) throw new Error(`${call} has no changes here, or no row`)
      return { row, one: both[0], two: both[1] }
    })
}
