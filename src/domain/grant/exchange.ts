import { aggregate, type Draft, type Event, type Transaction } from "../../store/index.ts"
import { user } from "../user-model/index.ts"
import { noteIssued } from "./issuance.ts"

/** Somebody, and what the token hung from that spoke for them. */
export type Party = { readonly userId: string; readonly anchor: string }

/** Tokens that an application got for others. */
type Exchanged = {
  readonly clientId: string
  readonly appId: string
  /** For whom the new token speaks. */
  readonly userId: string
  /** What the exchanged token hung from; absent where an actor only named the user. */
  readonly anchor?: string
  /** Who acts for the user. */
  readonly actor?: Party
  /** The access tokens that it was made of: each that is revoked takes it along. */
  readonly tokenIds?: readonly string[]
  /** How many exchanges lie one upon another; absent in those from before it was kept: one. */
  readonly depth?: number
  /** ms UTC. */
  readonly expires: number
}

export type ExchangeEvent = Event<"token_exchange.added", Exchanged>
export type Exchange = { readonly status: "absent" } | (Exchanged & { readonly status: "active" })

const absent: Exchange = { status: "absent" }

/** What an exchanged token hangs from: all that the tokens hung from that it was made of. */
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

/** Who acted as somebody else, for as long as an audit may ask. */
export const impersonation = aggregate<ImpersonationEvent, { readonly noted: boolean }>({
  stream: "impersonation",
  retention: "audit",
  initial: { noted: false },
  evolve: { "user.impersonated": () => ({ noted: true }) },
})

const exchangeGrantType = "urn:ietf:params:oauth:grant-type:token-exchange"

/** Adds what an exchanged token hangs from; where somebody acts for the user, that is noted. */
export function addExchange(
  tx: Transaction,
  { scopes, ...data }: Exchanged & { readonly scopes: readonly string[] },
): string {
  const id = tx.ids.next()
  const { userId, clientId, actor } = data
  const added: Draft<ExchangeEvent> = { type: "token_exchange.added", data }
  tx.append(exchange, id, [added])
  noteIssued(tx, id, { grantId: id, clientId, userId, grantType: exchangeGrantType, scopes })
  if (actor) {
    const noted: Draft<ImpersonationEvent> = {
      type: "user.impersonated",
      data: { userId, actorId: actor.userId, clientId, exchangeId: id },
    }
    tx.append(impersonation, tx.ids.next(), [noted], tx.owner(user, userId))
  }
  return id
}
