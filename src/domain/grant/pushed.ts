import { Fault } from "../../kernel/fault.ts"
import { aggregate, type Cx, type Draft, type Event, type Transaction } from "../../store/index.ts"

type PushedRequestData = {
  readonly clientId: string
  /** The administrator who tests the application with it; absent if the client sent it. */
  readonly testedBy?: string
}

export type PushedRequestEvent =
  | Event<"pushed_request.added", PushedRequestData, { readonly search: string }>
  | Event<"pushed_request.used">

type PushedRequest =
  | { readonly status: "absent" }
  | (PushedRequestData & {
      readonly status: "waiting" | "used"
      /** The parameters, form-urlencoded; empty after use. */
      readonly search: string
      readonly expires: number
    })

const minuteMs = 60_000

const absent: PushedRequest = { status: "absent" }

/** How long a pushed request can be used after it was sent. */
export const pushedLifetimeSeconds = 60

/** How long a user can take to sign in, ms. */
export const requestLifetimeMs = 60 * 60_000

/** RFC 9126: a pushed authorization request. */
export const pushedRequest = aggregate<PushedRequestEvent, PushedRequest>({
  stream: "pushed_request",
  retention: "transient",
  revision: 2,
  initial: absent,
  // A sign-in can begin just before the request expires, and must later detect whether it was used.
  expires: (state) =>
    state.status === "absent" ? undefined : state.expires + requestLifetimeMs + minuteMs,
  evolve: {
    "pushed_request.added": (_, { data, private: secret, time }) => ({
      status: "waiting",
      ...data,
      search: secret?.search ?? "",
      expires: time + pushedLifetimeSeconds * 1000,
    }),
    "pushed_request.used": (state) =>
      state.status === "absent" ? state : { ...state, status: "used", search: "" },
  },
})

type PushedRequestInput = PushedRequestData & { readonly search: string }

/** Stores a pushed request. */
export function pushRequest(tx: Transaction, id: string, pushed: PushedRequestInput): void {
  const { search, ...data } = pushed
  const added: Draft<PushedRequestEvent> = {
    type: "pushed_request.added",
    data,
    private: { search },
  }
  tx.append(pushedRequest, id, [added])
}

/**
 * RFC 9126 §2.2: a request_uri with this prefix refers to a pushed request and is never fetched.
 */
const requestUriPrefix = "urn:ietf:params:oauth:request_uri:"

/** The request_uri of a pushed request. */
export const requestUriOf = (cx: Cx, id: string): string =>
  requestUriPrefix + cx.secrets.seal("token", id, sealContextOf(cx))

/** The ID of the pushed request of a request_uri; undefined if the URI was not issued here. */
export const parseRequestUri = (cx: Cx, uri: string): string | undefined =>
  uri.startsWith(requestUriPrefix)
    ? cx.secrets.open("token", uri.slice(requestUriPrefix.length), sealContextOf(cx))
    : undefined

/** IDs may repeat across instances: a request_uri of one instance must not be valid in another. */
const sealContextOf = (cx: Cx) => `request_uri/${cx.instance}`

/** The pushed parameters, or why they can't be used. */
type PushedRequestResult =
  | Pick<PushedRequestInput, "search" | "testedBy">
  | { readonly over: "old" | "other_client" | "used" }

/** The parameters that a client pushed, if the request is valid and unused. */
export const findPushedRequest = (cx: Cx, id: string, clientId: string): PushedRequestResult =>
  pushedRequestIn(cx.store.state(cx, pushedRequest, id), clientId, cx.clock.now())

function pushedRequestIn(state: PushedRequest, clientId: string, now: number): PushedRequestResult {
  if (state.status === "absent") return { over: "old" }
  if (state.clientId !== clientId) return { over: "other_client" }
  if (state.status === "used") return { over: "used" }
  if (now >= state.expires) return { over: "old" }
  const { search, testedBy } = state
  return { search, ...(testedBy !== undefined && { testedBy }) }
}

/**
 * Uses a pushed request, once, before the user signs in. Returns its parameters, or why it can't be
 * used.
 */
export function takePushedRequest(
  tx: Transaction,
  id: string,
  clientId: string,
): PushedRequestResult {
  const result = pushedRequestIn(tx.state(pushedRequest, id), clientId, tx.now)
  if (!("over" in result)) markPushedRequestUsed(tx, id)
  return result
}

/**
 * RFC 9126 §4: marks a request as used, as the first part of its response. Throws if another
 * response was sent first, since a request can be opened several times.
 */
export function markPushedRequestUsed(tx: Transaction, id: string): void {
  if (tx.state(pushedRequest, id).status !== "waiting") throw requestOverError()
  const used: Draft<PushedRequestEvent> = {
    type: "pushed_request.used",
    data: {},
    erase: { types: ["pushed_request.added"] },
  }
  tx.append(pushedRequest, id, [used])
}

/** RFC 9126: refers to the pushed request of an authorization request. */
export type PushedReference = {
  readonly id: string
  /** Whether it counts toward the rate limit of its IP address until it is completed. */
  readonly isCharged: boolean
}

type PushedOrigin = { readonly pushed?: PushedReference }

/** Whether a request that was opened several times is completed, or was purged. */
export const isPushedOver = (read: Pick<Transaction, "state">, { pushed }: PushedOrigin): boolean =>
  pushed !== undefined && read.state(pushedRequest, pushed.id).status !== "waiting"

/** Refunds the rate limit cost of a pushed request when it is completed. */
export function refundPushedRequest(cx: Cx, { pushed }: PushedOrigin): void {
  if (pushed?.isCharged) cx.allowance?.refund("request")
}

const requestOverId = "auth_request.over"

export const requestOverError = () =>
  new Fault(
    "failed_precondition",
    requestOverId,
    "this sign-in is over; return to the application and start again",
  )

/** Whether an error means that the request was completed concurrently or has expired. */
export const isRequestOver = (cause: unknown): boolean =>
  cause instanceof Fault && cause.id === requestOverId
