import {
  type Change,
  former,
  historyOf,
  type Undo,
  type UndoRequest,
} from "../../../store/index.ts"
import { domainPolicy, notification } from "../domain.ts"
import { generatorOf, generators } from "../generator.ts"
import type { Policy, Values } from "../kind.ts"
import { login } from "../login.ts"
import { type Policies, type PolicyEvent, policies } from "../model.ts"
import { labelPreview, privacy } from "../page.ts"
import { lockout, passwordAge, passwordComplexity } from "../password.ts"

type PolicyChange = Change<PolicyEvent, Policies>
type Undos = Readonly<Record<string, Undo<PolicyEvent, Policies>>>

const admin = "core.admin.v1.AdminService"

const management = "core.management.v1.ManagementService"
type Service = typeof admin | typeof management

/** The undo of what is set of a policy, by the instance and by organizations. */
function undoOf<V extends Values>(
  { kind, standard }: Policy<V>,
  name: string,
  { service = management, reset = name }: { service?: Service; reset?: string } = {},
): Undos {
  const update = (to: Service, operation: string, change: PolicyChange): UndoRequest => {
    const { before, after, now } = change
    const { values: said = {} } = after[kind] ?? {}
    const was = former<Values>({ ...standard, ...before[kind]?.values }, said)
    const values = { ...standard, ...now[kind]?.values, ...was }
    const factor = kind === "login" && oneFactor(values, change, to)
    return factor || [`${to}/${operation}`, fieldsOf(values)]
  }
  const ofInstance = (change: PolicyChange) => update(admin, `Update${name}Policy`, change)
  return {
    // A value that applied by default is stored.
    [`instance.policy.${kind}.added`]: (change) => loose(ofInstance(change)),
    [`instance.policy.${kind}.changed`]: ofInstance,
    [`org.policy.${kind}.added`]: `${service}/Reset${reset}PolicyToDefault`,
    [`org.policy.${kind}.changed`]: (change) =>
      update(service, `UpdateCustom${name}Policy`, change),
    [`org.policy.${kind}.removed`]: ({ before }) =>
      before[kind]
        ? [`${service}/AddCustom${name}Policy`, fieldsOf({ ...standard, ...before[kind].values })]
        : "parts",
  }
}

/** Values by the names of requests. Only the login policy has this one by another name. */
const fieldsOf = (values: Values) => ({
  ...values,
  passwordlessType: values.allowPasswordless === true ? "allowed" : "not_allowed",
})

const loose = ([operation, fields]: UndoRequest): UndoRequest => [operation, fields, "loose"]

/** Allowed factors change one at a time; their order has no meaning. */
function oneFactor(values: Values, { now }: PolicyChange, to: Service): UndoRequest | undefined {
  const current: Values = { ...login.standard, ...now.login?.values }
  for (const name of ["second", "multi"]) {
    const [was, is] = [setOf(values[`${name}Factors`]), setOf(current[`${name}Factors`])]
    const factor = name === "second" ? "SecondFactor" : "MultiFactor"
    const [missing] = was.difference(is)
    if (missing) return [`${to}/Add${factor}ToLoginPolicy`, { type: missing }, "loose"]
    const [extra] = is.difference(was)
    if (extra) return [`${to}/Remove${factor}FromLoginPolicy`, { type: extra }]
  }
  return undefined
}

const setOf = (list: unknown) => new Set<unknown>(Array.isArray(list) ? list : [])

export const policiesHistory = historyOf(policies, {
  hidden: ["version", "created", "changed", "authors"].map((field) => `*.${field}`),
  target: ({ owner }) => ({ orgId: owner }),
  present: () => ({}),
  undo: {
    ...undoOf(domainPolicy, "Domain", { service: admin, reset: "CustomDomain" }),
    ...undoOf(labelPreview, "Label"),
    ...undoOf(lockout, "Lockout"),
    ...undoOf(login, "Login"),
    ...undoOf(notification, "Notification"),
    ...undoOf(passwordAge, "PasswordAge"),
    ...undoOf(passwordComplexity, "PasswordComplexity"),
    ...undoOf(privacy, "Privacy"),
  },
  noUndo: {
    // What users see follows from the preview, when that is activated.
    cascade: ["*.policy.label.added", "*.policy.label.changed", "*.policy.label.removed"],
    file: ["*.policy.label.assets.removed"],
  },
})

export const generatorsHistory = historyOf(generators, {
  undo: {
    "instance.secret.generator.changed": ({ cx, event: { data }, before, after }) => {
      if (!before.generator || !after.generator) return "parts"
      const { generatorType } = data
      const was = former(before.generator, after.generator)
      return [
        `${admin}/UpdateSecretGenerator`,
        { ...generatorOf(cx, generatorType), ...was, generatorType },
      ]
    },
  },
  noUndo: { unsaid: ["instance.secret.generator.added"] },
})
