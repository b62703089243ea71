import { aggregate, type Event, type PersistedEvent } from "../../store/index.ts"
import { authorsAfter } from "./applies.ts"
import type { PolicyKind, PolicyValues } from "./kind.ts"

/** Whether a policy belongs to the instance or to an organization. */
export type Level = "instance" | "org"

type PolicyEventType = `${Level}.policy.${PolicyKind}.${"added" | "changed"}`

type RemovedType = `org.policy.${PolicyKind}.removed`

type FilesRemovedType = `${Level}.policy.label.assets.removed`

/** Files that neither the active branding nor its preview references any more. */
type FilesRemoved<Type extends string> = Event<Type, { readonly files: readonly string[] }>

export type PolicyEvent =
  | { [Type in FilesRemovedType]: FilesRemoved<Type> }[FilesRemovedType]
  | { [Type in PolicyEventType]: Event<Type, PolicyValues> }[PolicyEventType]
  | { [Type in RemovedType]: Event<Type> }[RemovedType]

/** A stored policy; `version` is the stream version of its last change. */
export type StoredPolicy = {
  readonly values: PolicyValues
  readonly version: number
  /** ms UTC, like `changed`. */
  readonly created: number
  readonly changed: number
  /** The users who set the current values. */
  readonly authors: readonly string[]
}

/** Stored policies of one owner; others come from the instance or the defaults. */
export type Policies = Readonly<Partial<Record<PolicyKind, StoredPolicy>>>

type PolicyValuesEvent = Pick<
  PersistedEvent<PolicyEvent & { type: PolicyEventType }>,
  "data" | "time" | "version" | "editor"
>

const applyValues =
  (kind: PolicyKind) =>
  (state: Policies, { data, time, version, editor }: PolicyValuesEvent): Policies => {
    const before = state[kind]
    const { isPartial, ...set } = data
    const values = { ...before?.values, ...set }
    return {
      ...state,
      [kind]: {
        values,
        version,
        created: before?.created ?? time,
        changed: time,
        authors: authorsAfter(before?.authors ?? [], editor.user, { isPartial }),
      },
    }
  }

const applyRemoved =
  (kind: PolicyKind) =>
  (state: Policies): Policies => {
    const { [kind]: _, ...rest } = state
    return rest
  }

const keepState = (state: Policies): Policies => state

/** All policies of an owner in one stream, because most calls read several. */
export const policies = aggregate<PolicyEvent, Policies>({
  stream: "policy",
  revision: 3,
  initial: {},
  evolve: {
    "instance.policy.domain.added": applyValues("domain"),
    "instance.policy.domain.changed": applyValues("domain"),
    "org.policy.domain.added": applyValues("domain"),
    "org.policy.domain.changed": applyValues("domain"),
    "org.policy.domain.removed": applyRemoved("domain"),
    "instance.policy.label.added": applyValues("label"),
    "instance.policy.label.changed": applyValues("label"),
    "org.policy.label.added": applyValues("label"),
    "org.policy.label.changed": applyValues("label"),
    "org.policy.label.removed": applyRemoved("label"),
    "instance.policy.label.preview.added": applyValues("label.preview"),
    "instance.policy.label.preview.changed": applyValues("label.preview"),
    "org.policy.label.preview.added": applyValues("label.preview"),
    "org.policy.label.preview.changed": applyValues("label.preview"),
    "org.policy.label.preview.removed": applyRemoved("label.preview"),
    "instance.policy.label.assets.removed": keepState,
    "org.policy.label.assets.removed": keepState,
    "instance.policy.lockout.added": applyValues("lockout"),
    "instance.policy.lockout.changed": applyValues("lockout"),
    "org.policy.lockout.added": applyValues("lockout"),
    "org.policy.lockout.changed": applyValues("lockout"),
    "org.policy.lockout.removed": applyRemoved("lockout"),
    "instance.policy.login.added": applyValues("login"),
    "instance.policy.login.changed": applyValues("login"),
    "org.policy.login.added": applyValues("login"),
    "org.policy.login.changed": applyValues("login"),
    "org.policy.login.removed": applyRemoved("login"),
    "instance.policy.notification.added": applyValues("notification"),
    "instance.policy.notification.changed": applyValues("notification"),
    "org.policy.notification.added": applyValues("notification"),
    "org.policy.notification.changed": applyValues("notification"),
    "org.policy.notification.removed": applyRemoved("notification"),
    "instance.policy.password.age.added": applyValues("password.age"),
    "instance.policy.password.age.changed": applyValues("password.age"),
    "org.policy.password.age.added": applyValues("password.age"),
    "org.policy.password.age.changed": applyValues("password.age"),
    "org.policy.password.age.removed": applyRemoved("password.age"),
    "instance.policy.password.complexity.added": applyValues("password.complexity"),
    "instance.policy.password.complexity.changed": applyValues("password.complexity"),
    "org.policy.password.complexity.added": applyValues("password.complexity"),
    "org.policy.password.complexity.changed": applyValues("password.complexity"),
    "org.policy.password.complexity.removed": applyRemoved("password.complexity"),
    "instance.policy.privacy.added": applyValues("privacy"),
    "instance.policy.privacy.changed": applyValues("privacy"),
    "org.policy.privacy.added": applyValues("privacy"),
    "org.policy.privacy.changed": applyValues("privacy"),
    "org.policy.privacy.removed": applyRemoved("privacy"),
  },
})
