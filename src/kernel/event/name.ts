/** An event by its stored type, with its open payload: some names depend on what it contains. */
export type EventContent = { readonly type: string; readonly data: object }

/**
 * Stored types that the interface presents under another name. One stored event is one presented
 * event. Types that are not in this table are presented under their stored names.
 */
const renamed: Readonly<Record<string, string>> = {
  "group.user.added": "group.users.added",
  "group.user.removed": "group.users.removed",
  "instance.idp.ldap.added": "instance.idp.ldap.v2.added",
  "instance.idp.ldap.changed": "instance.idp.ldap.v2.changed",
  "org.idp.ldap.added": "org.idp.ldap.v2.added",
  "org.idp.ldap.changed": "org.idp.ldap.v2.changed",
  // A preview is edited; users see it once it is activated, which writes the label policy itself.
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
  // The user that the same step adds has the ID of the registration.
  "registration.completed": "user.human.selfregistered",
  "token.issued": "oidc_session.access_token.added",
  "user.human.mfa.otp.email.code.requested": "user.human.mfa.otp.email.code.added",
  "user.human.mfa.otp.sms.code.requested": "user.human.mfa.otp.sms.code.added",
  "user.human.passwordless.initialization.code.used":
    "user.human.passwordless.initialization.code.check.succeeded",
}

/** Files of the branding, as the names of events spell them. */
const files: Readonly<Record<string, string>> = {
  logo: "logo",
  logoDark: "logo.dark",
  icon: "icon",
  iconDark: "icon.dark",
  font: "font",
}

const previewChanged = /^(instance|org)\.policy\.label\.preview\.changed$/

/** The name of a change of one file of the branding; undefined for every other event. */
function fileChange({ type, data }: EventContent): string | undefined {
  const [, level] = previewChanged.exec(type) ?? []
  const [change, ...others] = Object.entries(data)
  const file = files[change?.[0] ?? ""]
  if (level === undefined || file === undefined || others.length > 0) return undefined
  return `${level}.policy.label.${file}.${change?.[1] === "" ? "removed" : "added"}`
}

const fileChanges = (level: string): readonly string[] =>
  Object.values(files).flatMap((file) =>
    ["added", "removed"].map((act) => `${level}.policy.label.${file}.${act}`),
  )

/** Names of which an event has some more; `of` tells which, from its payload. */
type Further = {
  readonly names: readonly string[]
  readonly of?: (data: object) => readonly string[]
}

/** A list of allowed factors is stored as a whole: whether it grew or shrank it does not tell. */
function factorChanges(level: string): Further {
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
 * Further events of the contract that a stored event stands for. It is presented under its own name
 * and also matches these in filters and conditions.
 */
const further: Readonly<Record<string, Further>> = {
  "instance.policy.login.changed": factorChanges("instance"),
  "org.policy.login.changed": factorChanges("org"),
  "instance.policy.label.preview.changed": { names: fileChanges("instance"), of: () => [] },
  "org.policy.label.preview.changed": { names: fileChanges("org"), of: () => [] },
  "instance.customtext.template.removed": { names: ["instance.customtext.removed"] },
  "org.customtext.template.removed": { names: ["org.customtext.removed"] },
  "oidc_session.terminated": { names: ["oidc_session.refresh_token.revoked"] },
  "token.issued": { names: ["user.token.added", "user.token.v2.added"] },
  "user_agent.signed.out": { names: ["user.human.signed.out"] },
}

/** The name under which an event is presented. */
export const presentedType = (event: EventContent): string =>
  fileChange(event) ?? renamed[event.type] ?? event.type

/** Every name that an event matches in filters and conditions, the presented one first. */
export function namesOf(event: EventContent): readonly string[] {
  const { names = [], of } = further[event.type] ?? {}
  const presented = [presentedType(event), renamed[event.type] ?? event.type]
  return [...new Set([...presented, event.type, ...(of ? of(event.data) : names)])]
}

/** Every name that some event of a stored type matches, its own among them. */
export function namesOfType(type: string): readonly string[] {
  const { names = [] } = further[type] ?? {}
  return [...new Set([renamed[type] ?? type, type, ...names])]
}

/** The names of a stored type that are part of the interface: all, unless another replaces it. */
export const listedNames = (type: string): readonly string[] =>
  namesOfType(type).filter((name) => name !== type || renamed[type] === undefined)

/** Whether the names that an event matches depend on what it contains. */
export const dependsOnData = (type: string): boolean => further[type]?.of !== undefined

/** What events are of, by how their types begin. */
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
  const presented = renamed[type] ?? type
  const known = aggregates.find(([prefix]) => presented.startsWith(prefix))
  return known?.[1] ?? stream
}
