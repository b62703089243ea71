import { type Change, formerValues, historyOf, type UndoRequest } from "../../../store/index.ts"
import { labelPreview, privacy } from "../branding.ts"
import { domainPolicy, notification } from "../domain.ts"
import { generatorOf, generators } from "../generator.ts"
import type { PolicyKind, PolicyValues } from "../kind.ts"
import { login } from "../login.ts"
import { type Policies, type PolicyEvent, policies } from "../model.ts"
import { lockout, passwordAge, passwordComplexity } from "../password.ts"

type PolicyChange = Change<PolicyEvent, Policies>
type SomeValues = Partial<PolicyValues>

/** Policies that have operations. What users see of a label follows from its preview. */
const policyList: readonly { readonly kind: PolicyKind; readonly standard: PolicyValues }[] = [
  domainPolicy,
  labelPreview,
  lockout,
  login,
  notification,
  passwordAge,
  passwordComplexity,
  privacy,
]

const admin = "core.admin.v1.AdminService"
const management = "core.management.v1.ManagementService"
type Service = typeof admin | typeof management

/** The policy of an event, and its operations: "org.policy.password.age.*" has "*PasswordAge*". */
function operationsOf({ type }: PolicyEvent) {
  const [level, , ...words] = type.split(".").slice(0, -1)
  const policy = policyList.find(({ kind }) => kind === words.join("."))
  if (!policy) throw new Error(`no operation sets the policy of ${type}`)
  const isOfOrg = level === "org"
  const service: Service = isOfOrg && policy.kind !== "domain" ? management : admin
  const capitals = words.map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`)
  const name = capitals.join("").replace("Preview", "")
  return { ...policy, service, name, custom: isOfOrg ? "Custom" : "" }
}

/** Sets the values that the change made others; the other ones stay as they are now. */
function updateOf({ event, before, after, now }: PolicyChange): UndoRequest {
  const { kind, standard, service, custom, name } = operationsOf(event)
  const was = formerValues<PolicyValues>(
    { ...standard, ...before[kind]?.values },
    after[kind]?.values ?? {},
  )
  const current = { ...standard, ...now[kind]?.values }
  const values = { ...current, ...was }
  const factor = kind === "login" ? factorUndo(values, current, service) : undefined
  return factor ?? [`${service}/Update${custom}${name}Policy`, requestFieldsOf(values)]
}

/** Values by request field name; only one field of the login policy differs. */
const requestFieldsOf = (values: SomeValues) => ({
  ...values,
  passwordlessType: values.allowPasswordless === true ? "allowed" : "not_allowed",
})

/** Allowed factors are undone one at a time; their order has no meaning. */
function factorUndo(values: SomeValues, now: SomeValues, to: Service): UndoRequest | undefined {
  for (const name of ["second", "multi"]) {
    const [was, is] = [toSet(values[`${name}Factors`]), toSet(now[`${name}Factors`])]
    const factor = name === "second" ? "SecondFactor" : "MultiFactor"
    const [missing] = was.difference(is)
    if (missing) return [`${to}/Add${factor}ToLoginPolicy`, { type: missing }, "loose"]
    const [extra] = is.difference(was)
    if (extra) return [`${to}/Remove${factor}FromLoginPolicy`, { type: extra }]
  }
  return undefined
}

const toSet = (list: unknown) => new Set<unknown>(Array.isArray(list) ? list : [])

export const policiesHistory = historyOf(policies, {
  hidden: ["version", "created", "changed", "authors"].map((field) => `*.${field}`),
  target: ({ owner }) => ({ orgId: owner }),
  present: () => ({}),
  undo: {
    "instance.policy.*.added": (change) => {
      const [operation, fields] = updateOf(change)
      // A value that applied by default is stored.
      return [operation, fields, "loose"]
    },
    "*.policy.*.changed": updateOf,
    "org.policy.*.added": ({ event }) => {
      const { kind, service, custom, name } = operationsOf(event)
      return [`${service}/Reset${kind === "domain" ? custom : ""}${name}PolicyToDefault`, {}]
    },
    "org.policy.*.removed": ({ event, before }) => {
      const { kind, standard, service, name } = operationsOf(event)
      const { values } = before[kind] ?? {}
      if (!values) return "parts"
      return [`${service}/AddCustom${name}Policy`, requestFieldsOf({ ...standard, ...values })]
    },
  },
  noUndo: {
    cascade: [
      "instance.policy.label.added",
      "instance.policy.label.changed",
      "org.policy.label.added",
      "org.policy.label.changed",
      "org.policy.label.removed",
    ],
    file: ["*.policy.label.assets.removed"],
  },
})

export const generatorsHistory = historyOf(generators, {
  undo: {
    "instance.secret.generator.changed": ({ cx, event: { data }, before, after }) => {
      if (!before.generator || !after.generator) return "parts"
      const { generatorType } = data
      const was = formerValues(before.generator, after.generator)
      return [
        `${admin}/UpdateSecretGenerator`,
        { ...generatorOf(cx, generatorType), ...was, generatorType },
      ]
    },
  },
  noUndo: { unsaid: ["instance.secret.generator.added"] },
})
