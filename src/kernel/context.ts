import type { ExplainAccess } from "./access.ts"
import type { Clock } from "./clock.ts"
import type { Random } from "./crypto/random.ts"
import type { Secrets } from "./crypto/secret.ts"
import { Fault } from "./fault.ts"
import type { Ids } from "./id.ts"
import type { Allowance } from "./limit.ts"
import type { Outside } from "./port/outbound.ts"

/** The caller. `client` is the OAuth client that a user calls through. */
export type Caller =
  | { readonly kind: "anonymous" }
  | {
      readonly kind: "user"
      readonly userId: string
      readonly orgId: string
      readonly clientId: string
      /**
       * When the user last signed in with certainty, in the sign-in behind the token, ms UTC; 0 if
       * unknown. Absent for tokens without a sign-in: service accounts use credentials.
       */
      readonly authTime?: number | undefined
      /** The browser session behind the token; absent if there is none. */
      readonly sessionId?: string | undefined
    }
  /** The process itself, which has no roles; or a system user, who manages several instances. */
  | {
      readonly kind: "system"
      readonly name: string
      readonly roles?: readonly string[]
      /** The public URL that they call, from which the URLs of new instances are derived. */
      readonly publicUrl?: string
    }

/**
 * Which rows of a search a caller may see. The dispatcher sets it from the access rule, and
 * `search` applies it; `all` is the whole instance. A row is visible if any list contains its
 * owner.
 */
export type Scope = {
  readonly all: boolean
  readonly orgs: readonly string[]
  readonly projects: readonly string[]
  readonly grants: readonly string[]
  /** The caller's own user ID, if the rule lets callers see themselves. */
  readonly self?: string
  /** The scope of each kind, for a search over several kinds of rows. The outer scope is empty. */
  readonly kinds?: Readonly<Record<string, Scope>>
}

/**
 * Calls an operation by its full name as the same caller: validation, access rule and targets
 * apply. `request` is a message of its input type.
 */
export type CallOperation = (
  operation: string,
  request: object,
  options?: CallOperationOptions,
) => Promise<void>

export type CallOperationOptions = {
  /** Overrides for the call: the organization of its context, the store of a dry run. */
  readonly call?: object
  /** Whether this is a dry run, in which no external services are called. */
  readonly isTrial?: boolean
}

/**
 * The services that the process provides to every call: time, IDs, randomness, keys and external
 * services.
 */
export type Services = {
  readonly clock: Clock
  readonly ids: Ids
  readonly random: Random
  readonly secrets: Secrets
  readonly outside: Outside
  /** Logs a warning for operators, once for each text. */
  readonly warn: (text: string) => void
  /** Logs a failed sign-in with an unknown login name, with the client's address. */
  readonly noteStranger?: ((address: string) => void) | undefined
}

/**
 * The source of a client address: the connection, a trusted proxy's header, or the connection of an
 * untrusted proxy, in which case it is the proxy's own address.
 */
export type AddressSource = "connection" | "trusted proxy" | "unknown proxy"

/** Distinguishes browsers; neither value is verified or proves anything. */
export type RequestSource = {
  /** Resolved through trusted proxies. */
  readonly address: string
  /** By default, the connection. */
  readonly addressSource?: AddressSource
  /** The User-Agent header, empty without one. */
  readonly userAgent: string
}

/**
 * The context of one call, from the listener to the store. `instance` is part of every SQL
 * statement.
 */
export type Call = Services & {
  readonly instance: string
  readonly caller: Caller
  /** Set by the dispatcher for searches; a search without it is a bug and throws. */
  readonly scope?: Scope | undefined
  /**
   * The organization that a v1 caller names in x-core-orgid, not yet checked against their roles.
   */
  readonly orgId?: string | undefined
  /**
   * Whether the caller has all permissions of a user. Set by the dispatcher, for operations where
   * only some fields give a way to act as a user; other operations use the rank in their access
   * rule. "home" only compares permissions on the instance and in the user's own organization.
   */
  readonly outranks?: ((userId: string, reach?: "anywhere" | "home") => boolean) | undefined
  /**
   * Whether the caller has all permissions that any user of the instance has. Set by the
   * dispatcher.
   */
  readonly outranksInstance?: (() => boolean) | undefined
  /**
   * Whether the caller has a permission on the resource of the access rule. Set by the dispatcher;
   * operations use it if only a part of a request needs the permission.
   */
  readonly holds?: ((permission: string) => boolean) | undefined
  /**
   * The authors of targets that changed the request: users who need the same permissions as the
   * caller. Set by the dispatcher.
   */
  readonly authors?: readonly string[] | undefined
  /** Whether the caller has a permission on the whole instance. Set by the dispatcher. */
  readonly holdsOnInstance?: ((permission: string) => boolean) | undefined
  /** Whether the caller has a permission on their own account. Set by the dispatcher. */
  readonly holdsOnOneself?: ((permission: string) => boolean) | undefined
  /** Calls another operation as the same caller. Set by the dispatcher. */
  readonly operate?: CallOperation | undefined
  /** Explains how access would be decided for a user. Set by the dispatcher. */
  readonly explain?: ExplainAccess | undefined
  /**
   * Set by the dispatcher if an alternative to the access rule allowed the call: the fault to throw
   * if the resource is not found.
   */
  readonly fallback?: Fault | undefined
  /** The remaining rate limits of the caller's address; absent for internal calls. */
  readonly allowance?: Allowance | undefined
  /** The address and browser of the request; absent for internal calls. */
  readonly from?: RequestSource | undefined
  /** The log position of this call's last write, which the store sets and the response contains. */
  readonly written?: { position?: number } | undefined
  /**
   * The log position up to which the caller has read the resource: a write that would overwrite a
   * later change is rejected. Set by the dispatcher.
   */
  readonly expectedVersion?: number | undefined
  /** When the client stops waiting for the response, in ms UTC; absent without a deadline. */
  readonly deadline?: number | undefined
  /** The ID of this request in logs, error pages and events. */
  readonly requestId: string
  /** Preferred languages, best first. */
  readonly languages: readonly string[]
}

/** The organization of a v1 call: the one it names, otherwise the caller's own. */
export const contextOrg = ({ orgId, caller }: Pick<Call, "orgId" | "caller">): string =>
  orgId || homeOrg({ caller })

/** The caller's own organization; empty if they have none. */
export const homeOrg = ({ caller }: Pick<Call, "caller">): string =>
  caller.kind === "user" ? caller.orgId : ""

type RequestedOwner =
  | { readonly case: "orgId"; readonly value: string }
  | { readonly case: "instance"; readonly value: boolean }
  | { readonly case: undefined; readonly value?: undefined }

/**
 * The organization that a v2 request names; undefined for the instance. Without either, the
 * caller's own organization.
 */
export function requestedOrganization(
  cx: Pick<Call, "caller">,
  requestedOwner: RequestedOwner | undefined,
): string | undefined {
  if (requestedOwner?.case === "orgId") return requestedOwner.value
  return requestedOwner?.case === "instance" && requestedOwner.value ? undefined : homeOrg(cx)
}

/** The same call with the author of a target as caller, in the caller's organization. */
export const asAuthor = <C extends Pick<Call, "caller" | "authors">>(cx: C, userId: string): C => ({
  ...cx,
  caller: { kind: "user", userId, orgId: homeOrg(cx), clientId: "" },
  authors: undefined,
})

/** The call once for its caller and once for each author of its request. */
export const callsOfEachAuthor = <C extends Pick<Call, "caller" | "authors">>(
  cx: C,
): readonly C[] => {
  const { authors = [] } = cx
  if (authors.length === 0) return [cx]
  return [{ ...cx, authors: undefined }, ...authors.map((userId) => asAuthor(cx, userId))]
}

/** Whether a user is the caller, or an author of the call's request. */
export const isAmongCallers = (cx: Pick<Call, "caller" | "authors">, userId: string): boolean =>
  callsOfEachAuthor(cx).some(({ caller }) => caller.kind === "user" && caller.userId === userId)

/** The caller's user ID, for operations on the caller's own account. */
export function requireUserId({ caller }: Pick<Call, "caller">): string {
  if (caller.kind === "user") return caller.userId
  throw new Fault("unauthenticated", "user.nobody", "authentication required: sign in first")
}
