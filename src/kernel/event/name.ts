/** A stored event's type and unencrypted payload; some presented names depend on the payload. */
export type EventContent = { readonly type: string; readonly data: object }

/**
 * Stored types that the API presents under another name. One stored event is one presented event.
 * All other types are presented under their stored names.
 */
const presentedNames: Readonly<Record<string, string>> = {
  "group.user.added": "group.users.added",
  "group.user.removed": "group.users.removed",
  "instance.idp.ldap.added": "instance.idp.ldap.v2.added",
  "instance.idp.ldap.changed": "instance.idp.ldap.v2.changed",
  "org.idp.ldap.added": "org.idp.ldap.v2.added",
  "org.idp.ldap.changed": "org.idp.ldap.v2.changed",
  // Edits change a preview; activation makes it visible and writes the label policy.
  "instance.policy.label.added": "instance.policy.label.activated",
  "instance.policy.label.changed": "instance.policy.label.activated",
  "instance.policy.label.preview.added": "instance.policy.label.added",
  "instance.policy.label.preview.changed": "instance.policy.label.changed",
  "org.policy.label.added": "org.policy.label.activated",
  "org.policy.label.changed": "org.policy.label.activated",
  "org.policy.label.preview.added": "org.policy.label.added",
  "org.policy.label.preview.changed": "org.policy.label.changed",
  "org.policy.label.preview.removed": "org.policy.label.removed",
  "milestone.reached": "milestone.pushed",
  // The same transaction adds the user with the ID of the registration.
  "registration.completed": "user.human.selfregistered",
  "token.issued": "oidc_session.access_token.added",
  "user.human.mfa.otp.email.code.requested": "user.human.mfa.otp.email.code.added",
  "user.human.mfa.otp.sms.code.requested": "user.human.mfa.otp.sms.code.added",
  "user.human.passwordless.initialization.code.used":
    "user.human.passwordless.initialization.code.check.succeeded",
}

/** Branding files, as named in event types. */
const brandingFiles: Readonly<Record<string, string>> = {
  logo: "logo",
  logoDark: "logo.dark",
  icon: "icon",
  iconDark: "icon.dark",
  font: "font",
}

const previewChanged = /^(instance|org)\.policy\.label\.preview\.changed$/

/** The name of a change to a single branding file; undefined for other events. */
function brandingFileChange({ type, data }: EventContent): string | undefined {
  const [, level] = previewChanged.exec(type) ?? []
  const [change, ...others] = Object.entries(data)
  const file = brandingFiles[change?.[0] ?? ""]
  if (level === undefined || file === undefined || others.length > 0) return undefined
  return `${level}.policy.label.${file}.${change?.[1] === "" ? "removed" : "added"}`
}

const brandingFileChanges = (level: string): readonly string[] =>
  Object.values(brandingFiles).flatMap((file) =>
    ["added", "removed"].map((act) => `${level}.policy.label.${file}.${act}`),
  )

/** Additional names that an event matches; `of` selects them by payload. */
type AdditionalNames = {
  readonly names: readonly string[]
  readonly of?: (data: object) => readonly string[]
}

/**
 * A list of allowed factors is stored as a whole; the event does not contain whether it grew or
 * shrank.
 */
function factorChanges(level: string): AdditionalNames {
  const namesOf = (factor: string) =>
    ["added", "removed"].map((act) => `${level}.policy.login.${factor}.${act}`)
  const [second, multi] = [namesOf("secondfactor"), namesOf("multifactor")]
  return {
    names: [...second, ...multi],
    of: (data) => [
      ...("secondFactors" in data ? second : []),
      ...("multiFactors" in data ? multi : []),
    ],
  }
}

/**
 * Additional public event types that a stored event represents. It is presented under its own name
 * and also matches these in filters and conditions.
 */
const additionalNames: Readonly<Record<string, AdditionalNames>> = {
  "instance.policy.login.changed": factorChanges("instance"),
  "org.policy.login.changed": factorChanges("org"),
  "instance.policy.label.preview.changed": { names: brandingFileChanges("instance"), of: () => [] },
  "org.policy.label.preview.changed": { names: brandingFileChanges("org"), of: () => [] },
  "instance.customtext.template.removed": { names: ["instance.customtext.removed"] },
  "org.customtext.template.removed": { names: ["org.customtext.removed"] },
  "oidc_session.terminated": { names: ["oidc_session.refresh_token.revoked"] },
  "token.issued": { names: ["user.token.added", "user.token.v2.added"] },
  "user_agent.signed.out": { names: ["user.human.signed.out"] },
}

/** The name under which an event is presented. */
export const presentedType = (event: EventContent): string =>
  brandingFileChange(event) ?? presentedNames[event.type] ?? event.type

/** Every name that an event matches in filters and conditions, presented name first. */
export function namesOf(event: EventContent): readonly string[] {
  const { names = [], of } = additionalNames[event.type] ?? {}
  const presented = [presentedType(event), presentedNames[event.type] ?? event.type]
  return [...new Set([...presented, event.type, ...(of ? of(event.data) : names)])]
}

/** Every name that some event of a stored type matches, including its own. */
export function namesOfType(type: string): readonly string[] {
  const { names = [] } = additionalNames[type] ?? {}
  return [...new Set([presentedNames[type] ?? type, type, ...names])]
}

/**
 * The names of a stored type that the API lists: all, without the stored name if another replaces
 * it.
 */
export const listedNames = (type: string): readonly string[] =>
  namesOfType(type).filter((name) => name !== type || presentedNames[type] === undefined)

/** Whether the names that an event matches depend on its payload. */
export const dependsOnData = (type: string): boolean => additionalNames[type]?.of !== undefined

/** Presented aggregate types by prefix of the event type. */
const aggregates: readonly (readonly [prefix: string, aggregateType: string])[] = [
  ["user.grant.", "usergrant"],
  ["user.", "user"],
  ["org.", "org"],
  ["project.", "project"],
  ["instance.", "instance"],
  ["group.", "group"],
  ["milestone.", "milestone"],
  ["oidc_session.", "oidc_session"],
  ["quota.", "quota"],
]

/** The aggregate that a stored event is presented under; `stream` is the kind of its stream. */
export function aggregateOf(stream: string, type: string): string {
  const presented = presentedNames[type] ?? type
  const known = aggregates.find(([prefix]) => presented.startsWith(prefix))
  return known?.[1] ?? stream
}
