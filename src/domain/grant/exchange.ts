import { aggregate, type Draft, type Event, type Transaction } from "../../store/index.ts"
import { user } from "../user-model/index.ts"
import { recordIssuedTokens } from "./issuance.ts"

/** A party of a token exchange, and what their token depended on. */
export type Party = { readonly userId: string; readonly anchor: string }

/** Tokens that an application obtained by token exchange (RFC 8693). */
type ExchangedTokens = {
  readonly clientId: string
  readonly appId: string
  /** The user that the new token is for. */
  readonly userId: string
  /** What the exchanged token depended on; absent if an actor only named the user. */
  readonly anchor?: string
  /** The party that acts for the user. */
  readonly actor?: Party
  /** IDs of the access tokens that were exchanged; revoking one of them revokes this token, too. */
  readonly tokenIds?: readonly string[]
  /** The number of chained exchanges; absent in older events, which means one. */
  readonly depth?: number
  /** ms UTC. */
  readonly expires: number
}

export type ExchangeEvent = Event<"token_exchange.added", ExchangedTokens>
export type Exchange =
  | { readonly status: "absent" }
  | (ExchangedTokens & { readonly status: "active" })

const absent: Exchange = { status: "absent" }

/** An exchanged token depends on it: on everything that the original tokens depended on. */
export const exchange = aggregate<ExchangeEvent, Exchange>({
  stream: "token_exchange",
  retention: "transient",
  expires: (state) => (state.status === "absent" ? undefined : state.expires + 60_000),
  initial: absent,
  evolve: { "token_exchange.added": (_, { data }) => ({ ...data, status: "active" }) },
})

export type ImpersonationEvent = Event<
  "user.impersonated",
  {
    readonly userId: string
    readonly actorId: string
    readonly clientId: string
    readonly exchangeId: string
  }
>

/** Records impersonation, for as long as the audit log is retained. */
export const impersonation = aggregate<ImpersonationEvent, { readonly noted: boolean }>({
  stream: "impersonation",
  retention: "audit",
  initial: { noted: false },
  evolve: { "user.impersonated": () => ({ noted: true }) },
})

const exchangeGrantType = "urn:ietf:params:oauth:grant-type:token-exchange"

/** Adds an exchange. If a party acts for the user, the impersonation is recorded. */
export function addExchange(
  tx: Transaction,
  { scopes, ...data }: ExchangedTokens & { readonly scopes: readonly string[] },
): string {
  const id = tx.ids.next()
  const { userId, clientId, actor } = data
  const added: Draft<ExchangeEvent> = { type: "token_exchange.added", data }
  tx.append(exchange, id, [added])
  recordIssuedTokens(tx, id, {
    grantId: id,
    clientId,
    userId,
    grantType: exchangeGrantType,
    scopes,
  })
  if (actor) {
    const noted: Draft<ImpersonationEvent> = {
      type: "user.impersonated",
      data: { userId, actorId: actor.userId, clientId, exchangeId: id },
    }
    tx.append(impersonation, tx.ids.next(), [noted], tx.owner(user, userId))
  }
  return id
}
