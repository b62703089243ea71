import { Fault } from "../../kernel/fault.ts"
import type { AnyAggregate, Cx } from "../../store/index.ts"

/** One thing whose history is asked for: the kind of its stream, and its id there. */
export type Place = {
  readonly kind: AnyAggregate
  readonly id: string
  /** Whether the caller may read events, but not what is personal in the thing. */
  readonly isImpersonal?: boolean
}

/**
 * What of a state is shown, beside what its events say openly. Paths are dotted; `*` is any key.
 * A state is made of events without their private parts, so that nothing secret is in it, unless
 * it is named here.
 */
export type Shown = {
  /** From private parts: what may be read of the thing as it is, by whoever may read it. */
  readonly personal?: readonly string[]
  /** Versions, times and authors that go with every change. */
  readonly hidden?: readonly string[]
  /** What is kept by key, where the keys alone say it. */
  readonly sets?: readonly string[]
}

const timed = ["*.version", "*.created", "*.changed", "*.authors"]

const shown: Readonly<Record<string, Shown>> = {
  action: { hidden: ["orgId", "authors"] },
  app: { hidden: ["kind", "registration.used", "registration.identity"] },
  customtext: { personal: ["texts"], hidden: ["authors"] },
  execution: { hidden: ["author"] },
  flow: { hidden: ["authors"] },
  group: { hidden: ["orgId"] },
  idps: { hidden: ["linksAuthor", ...timed.map((path) => `all.${path}`)] },
  instance: { hidden: ["oidcSaid"] },
  message_providers: { hidden: timed.map((path) => `providers.${path}`) },
  org: { hidden: ["stops", "stoppedBy"] },
  policy: { hidden: timed },
  project: { hidden: ["orgId", "rolesVersion"], sets: ["roles"] },
  projectgrant: { hidden: ["orgId", "rolesVersion", "changedIn"], sets: ["roles"] },
  role: { hidden: ["roles.*.created", "roles.*.changed"] },
  sign_up_link: { hidden: ["orgId", "hashed"] },
  target: { hidden: ["version", "sealed", "before", "authors", "keys.*.changed"] },
  user: {
    personal: ["userName", "profile", "email.address", "phone.number", "name", "description"],
    hidden: [
      "changed",
      "stoppedIn",
      "stoppers",
      "loginNames",
      "reservedNames",
      "factors",
      "emailCode",
      "phoneCode",
      "kind",
      "email.proven",
      "origins",
      "returnedCodes",
      "invite.isOfInstance",
      "invite.verifier",
    ],
  },
  usergrant: { hidden: ["orgId", "rolesVersion", "grantVersion"] },
}

export function shownOf({ kind, isImpersonal }: Place): Shown {
  const { personal = [], ...rest } = shown[kind.stream] ?? {}
  return isImpersonal ? rest : { ...rest, personal }
}

/** The kind of a stream; faults with `invalid_argument` where there is none that is kept. */
export function kindOf({ store }: Pick<Cx, "store">, stream: string): AnyAggregate {
  const kind = store.kind(stream)
  if (kind?.retention === "forever") return kind
  throw new Fault(
    "invalid_argument",
    "history.kind_unknown",
    "there is no history of this kind of things; ListAggregateTypes says which kinds there are, " +
      "and what is soon dropped has none",
  )
}
