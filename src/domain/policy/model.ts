import { aggregate, type Event, type Recorded } from "../../store/index.ts"
import { authorsAfter } from "./applies.ts"
import type { Kind, Values } from "./kind.ts"

/** Where something is said: for the whole instance, or by one organisation for itself. */
export type Level = "instance" | "org"

type SaidType = `${Level}.policy.${Kind}.${"added" | "changed"}`

type RemovedType = `org.policy.${Kind}.removed`

type FilesRemovedType = `${Level}.policy.label.assets.removed`

/** Files that neither what everybody sees nor a preview of it names any more. */
type FilesRemoved<Type extends string> = Event<Type, { readonly files: readonly string[] }>

export type PolicyEvent =
  | { [Type in FilesRemovedType]: FilesRemoved<Type> }[FilesRemovedType]
  | { [Type in SaidType]: Event<Type, Values> }[SaidType]
  | { [Type in RemovedType]: Event<Type> }[RemovedType]

/** What was said of one policy; `version` is that of the stream when it was said last. */
export type Said = {
  readonly values: Values
  readonly version: number
  /** ms UTC, as is `changed`. */
  readonly created: number
  readonly changed: number
  /** The users who set the values that it has now. */
  readonly authors: readonly string[]
}

/** What was said at one place; of what isn't among it, the place above says it. */
export type Policies = Readonly<Partial<Record<Kind, Said>>>

type Saying = Pick<
  Recorded<PolicyEvent & { type: SaidType }>,
  "data" | "time" | "version" | "editor"
>

const said =
  (kind: Kind) =>
  (state: Policies, { data, time, version, editor }: Saying): Policies => {
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

const removed =
  (kind: Kind) =>
  (state: Policies): Policies => {
    const { [kind]: _, ...rest } = state
    return rest
  }

const same = (state: Policies): Policies => state

/** The policies of one place in one stream: whoever asks for several reads once. */
export const policies = aggregate<PolicyEvent, Policies>({
  stream: "policy",
  revision: 3,
  initial: {},
  evolve: {
    "instance.policy.domain.added": said("domain"),
    "instance.policy.domain.changed": said("domain"),
    "org.policy.domain.added": said("domain"),
    "org.policy.domain.changed": said("domain"),
    "org.policy.domain.removed": removed("domain"),
    "instance.policy.label.added": said("label"),
    "instance.policy.label.changed": said("label"),
    "org.policy.label.added": said("label"),
    "org.policy.label.changed": said("label"),
    "org.policy.label.removed": removed("label"),
    "instance.policy.label.preview.added": said("label.preview"),
    "instance.policy.label.preview.changed": said("label.preview"),
    "org.policy.label.preview.added": said("label.preview"),
    "org.policy.label.preview.changed": said("label.preview"),
    "org.policy.label.preview.removed": removed("label.preview"),
    "instance.policy.label.assets.removed": same,
    "org.policy.label.assets.removed": same,
    "instance.policy.lockout.added": said("lockout"),
    "instance.policy.lockout.changed": said("lockout"),
    "org.policy.lockout.added": said("lockout"),
    "org.policy.lockout.changed": said("lockout"),
    "org.policy.lockout.removed": removed("lockout"),
    "instance.policy.login.added": said("login"),
    "instance.policy.login.changed": said("login"),
    "org.policy.login.added": said("login"),
    "org.policy.login.changed": said("login"),
    "org.policy.login.removed": removed("login"),
    "instance.policy.notification.added": said("notification"),
    "instance.policy.notification.changed": said("notification"),
    "org.policy.notification.added": said("notification"),
    "org.policy.notification.changed": said("notification"),
    "org.policy.notification.removed": removed("notification"),
    "instance.policy.password.age.added": said("password.age"),
    "instance.policy.password.age.changed": said("password.age"),
    "org.policy.password.age.added": said("password.age"),
    "org.policy.password.age.changed": said("password.age"),
    "org.policy.password.age.removed": removed("password.age"),
    "instance.policy.password.complexity.added": said("password.complexity"),
    "instance.policy.password.complexity.changed": said("password.complexity"),
    "org.policy.password.complexity.added": said("password.complexity"),
    "org.policy.password.complexity.changed": said("password.complexity"),
    "org.policy.password.complexity.removed": removed("password.complexity"),
    "instance.policy.privacy.added": said("privacy"),
    "instance.policy.privacy.changed": said("privacy"),
    "org.policy.privacy.added": said("privacy"),
    "org.policy.privacy.changed": said("privacy"),
    "org.policy.privacy.removed": removed("privacy"),
  },
})
