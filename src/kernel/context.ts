import type { Explain } from "./access.ts"
import type { Clock } from "./clock.ts"
import type { Random } from "./crypto/random.ts"
import type { Secrets } from "./crypto/secret.ts"
import { Fault } from "./fault.ts"
import type { Ids } from "./id.ts"
import type { Allowance } from "./limit.ts"
import type { Outside } from "./port/outbound.ts"

/** Who calls. `client` is the OAuth client through which a user calls. */
export type Caller =
  | { readonly kind: "anonymous" }
  | {
      readonly kind: "user"
      readonly userId: string
      readonly orgId: string
      readonly clientId: string
      /**
       * When the person last signed in for certain, in the sign-in that their token hangs from, ms
       * UTC; 0 where nobody knows. Absent where it hangs from none: service users sign in by what
       * they have.
       */
      readonly authTime?: number | undefined
      /** The session of a browser that their token hangs from; absent where it hangs from none. */
      readonly sessionId?: string | undefined
    }
  /** The process itself, which has no roles; or who manages several instances. */
  | {
      readonly kind: "system"
      readonly name: string
      readonly roles?: readonly string[]
      /** The public address that they call; those of new instances follow from it. */
      readonly publicUrl?: string
    }

/**
 * Which rows of a search a caller may see. The dispatcher sets it from the access rule, `search`
 * applies it; `all` is the whole instance. A row is seen when any of the lists names its owner.
 */
export type Scope = {
  readonly all: boolean
  readonly orgs: readonly string[]
  readonly projects: readonly string[]
  readonly grants: readonly string[]
  /** The caller's own user id where the rule lets callers see themselves. */
  readonly self?: string
  /** For a search over several kinds of rows: the scope of each kind. The outer one is empty. */
  readonly kinds?: Readonly<Record<string, Scope>>
}

/**
 * Asks an operation by its full name as the same caller would: what it may hold is checked, its
 * access rule decides, others have their say. `request` is a message of its input.
 */
export type Operate = (operation: string, request: object, how?: Operating) => Promise<void>

export type Operating = {
  /** What of the call is another: the organisation of its context, the store of a rehearsal. */
  readonly call?: object
  /** Whether nothing may come of it: then nobody outside is asked or told. */
  readonly isTrial?: boolean
}

/** What the process lends to every call: time, ids, randomness, keys and the world outside. */
export type Services = {
  readonly clock: Clock
  readonly ids: Ids
  readonly random: Random
  readonly secrets: Secrets
  readonly outside: Outside
  /** Tells whoever runs the server what only they can mend; it is said once, not at each call. */
  readonly warn: (said: string) => void
  /** Logs a failed sign-in with a name that is nobody's, by the address that it came from. */
  readonly noteStranger?: ((address: string) => void) | undefined
}

/**
 * Where an address comes from: the connection, a trusted proxy that names the client, or a proxy
 * that is not trusted, whose own address it is.
 */
export type AddressSource = "connection" | "trusted proxy" | "unknown proxy"

/** What tells a browser from others; neither is checked, or the worth of a proof. */
export type From = {
  /** Seen through the proxies that are trusted. */
  readonly address: string
  /** Left out: the connection. */
  readonly addressSource?: AddressSource
  /** The User-Agent header, empty without one. */
  readonly userAgent: string
}

/** One call, from the socket to the store. `instance` binds every statement that it runs. */
export type Call = Services & {
  readonly instance: string
  readonly caller: Caller
  /** Set by the dispatcher for searches; a search without it is a bug and throws. */
  readonly scope?: Scope | undefined
  /** The organisation a v1 caller names in x-core-orgid, not yet checked against their roles. */
  readonly orgId?: string | undefined
  /**
   * Whether the caller holds all that a user holds, wherever. Set by the dispatcher, for operations
   * that give a way to act as a user by some of their fields only; for others their rule says it.
   * "home": on the instance and in the user's own organisation.
   */
  readonly outranks?: ((userId: string, reach?: "anywhere" | "home") => boolean) | undefined
  /** Whether the caller holds all that anybody on the instance holds. Set by the dispatcher. */
  readonly outranksInstance?: (() => boolean) | undefined
  /**
   * Whether the caller holds a permission on the resource that the access rule names. Set by the
   * dispatcher; an operation asks it for what only a part of a request needs.
   */
  readonly holds?: ((permission: string) => boolean) | undefined
  /**
   * The authors of targets that changed the request: users who must be permitted whatever the
   * caller must. Set by the dispatcher.
   */
  readonly authors?: readonly string[] | undefined
  /** Whether the caller holds a permission on the whole instance. Set by the dispatcher. */
  readonly holdsOnInstance?: ((permission: string) => boolean) | undefined
  /** Whether the caller holds a permission on their own account. Set by the dispatcher. */
  readonly holdsOnOneself?: ((permission: string) => boolean) | undefined
  /** Asks another operation on behalf of the same caller. Set by the dispatcher. */
  readonly operate?: Operate | undefined
  /** Tells how access would be decided for a user, and why. Set by the dispatcher. */
  readonly explain?: Explain | undefined
  /**
   * Set by the dispatcher where the rule itself did not open, but what stands beside it: what the
   * operation answers where that leads to nothing.
   */
  readonly fallback?: Fault | undefined
  /** What the caller's address may still cost; absent where nobody calls from outside. */
  readonly allowance?: Allowance | undefined
  /** Where it came from, as the request says; absent where nobody calls from outside. */
  readonly from?: From | undefined
  /** Where the last step of this call stands in the log; the store notes it, its answer says it. */
  readonly written?: { position?: number } | undefined
  /**
   * The log position up to which the caller has read what the call changes: a step that would
   * replace a later change of it is refused. Set by the dispatcher.
   */
  readonly expectedVersion?: number | undefined
  /** When nobody waits for the answer any more, in ms UTC; absent where the caller doesn't say. */
  readonly deadline?: number | undefined
  /** Names this request in logs, error pages and events. */
  readonly requestId: string
  /** Preferred languages, best first. */
  readonly languages: readonly string[]
}

/** The organisation of a v1 call: the one it names, else the caller's own. */
export const contextOrg = ({ orgId, caller }: Pick<Call, "orgId" | "caller">): string =>
  orgId || homeOrg({ caller })

/** The caller's own organisation; empty for who has none. */
export const homeOrg = ({ caller }: Pick<Call, "caller">): string =>
  caller.kind === "user" ? caller.orgId : ""

type RequestedOwner =
  | { readonly case: "orgId"; readonly value: string }
  | { readonly case: "instance"; readonly value: boolean }
  | { readonly case: undefined; readonly value?: undefined }

/**
 * The organization that a request of version 2 is about; undefined for the instance. One that names
 * neither is about the caller's own organization.
 */
export function namedOrganization(
  cx: Pick<Call, "caller">,
  named: RequestedOwner | undefined,
): string | undefined {
  if (named?.case === "orgId") return named.value
  return named?.case === "instance" && named.value ? undefined : homeOrg(cx)
}

/** A call as the author of a target would make it, in the organization of the caller. */
export const asAuthor = <C extends Pick<Call, "caller" | "authors">>(cx: C, userId: string): C => ({
  ...cx,
  caller: { kind: "user", userId, orgId: homeOrg(cx), clientId: "" },
  authors: undefined,
})

/** The call as its caller makes it, and as each author of its request would. */
export const asEach = <C extends Pick<Call, "caller" | "authors">>(cx: C): readonly C[] => {
  const { authors = [] } = cx
  if (authors.length === 0) return [cx]
  return [{ ...cx, authors: undefined }, ...authors.map((userId) => asAuthor(cx, userId))]
}

/** Whether a user is the caller, or an author of the call's request. */
export const isAmongCallers = (cx: Pick<Call, "caller" | "authors">, userId: string): boolean =>
  asEach(cx).some(({ caller }) => caller.kind === "user" && caller.userId === userId)

/** Who calls, for what is about nobody else. */
export function callerOf({ caller }: Pick<Call, "caller">): string {
  if (caller.kind === "user") return caller.userId
  throw new Fault("unauthenticated", "user.nobody", "sign in to see who you are")
}
