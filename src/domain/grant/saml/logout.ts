import { randomToken } from "../../../kernel/crypto/random.ts"
import {
  aggregate,
  type Cx,
  type Draft,
  type Event,
  type Transaction,
} from "../../../store/index.ts"
import type { Binding } from "../../../xml/names.ts"
import { findIdpById, type UpstreamSession } from "../../idp/index.ts"
import { session } from "../../session/index.ts"
import { listSamlParticipants, type SamlParticipant } from "./session.ts"

/** A participant that must still be notified of the end of a session. */
export type LogoutParticipant = SamlParticipant & {
  readonly sessionId: string
  /** The session at an identity provider; then `appId` is the ID of the provider. */
  readonly upstream?: UpstreamSession
}

/** Where the browser is sent after all participants were notified. */
export type LogoutDestination =
  | { readonly kind: "location"; readonly url: string }
  /** A response to the initiator: an application or an identity provider. */
  | {
      readonly kind: "response" | "provider response"
      readonly appId: string
      readonly requestId: string
      readonly relayState: string
      readonly url: string
      readonly binding: Binding
    }

export type SamlLogoutEvent =
  | Event<
      "saml_logout.added",
      { readonly afterwards: LogoutDestination },
      { readonly untold: readonly LogoutParticipant[] }
    >
  | Event<"saml_logout.told", { readonly appId: string; readonly isDone: boolean }>

export type SamlLogout =
  | { readonly status: "absent" }
  | {
      readonly status: "open"
      readonly created: number
      readonly afterwards: LogoutDestination
      /** The first one is notified next. */
      readonly untold: readonly LogoutParticipant[]
      /** Whether all participants so far have confirmed the logout. */
      readonly isComplete: boolean
    }

const hourMs = 3_600_000

/**
 * A single logout in progress: the browser visits each SAML participant in turn. The ID is a secret
 * of that browser.
 */
export const samlLogout = aggregate<SamlLogoutEvent, SamlLogout>({
  stream: "saml_logout",
  retention: "transient",
  expires: (state) => (state.status === "absent" ? undefined : state.created + hourMs),
  initial: { status: "absent" },
  evolve: {
    "saml_logout.added": (_, { data: { afterwards }, private: secret, time }) => ({
      status: "open",
      created: time,
      afterwards,
      untold: secret?.untold ?? [],
      isComplete: true,
    }),
    "saml_logout.told": (state, { data: { appId, isDone } }) =>
      state.status === "absent"
        ? state
        : {
            ...state,
            untold: state.untold.filter((each) => each.appId !== appId),
            isComplete: state.isComplete && isDone,
          },
  },
})

/**
 * The SAML participants of sessions, each application once; providers with federated logout are
 * last. All are notified through the user's browser, so ending a session without it, as
 * administrators do, notifies no one. The SOAP binding (SAML Bindings §3.2) is not supported;
 * without a notification, participants end their session at SessionNotOnOrAfter.
 */
export function listLogoutParticipants(
  cx: Cx,
  sessionIds: readonly string[],
): readonly LogoutParticipant[] {
  const all = sessionIds.flatMap((sessionId) =>
    listSamlParticipants(cx, sessionId).map((each) => ({ ...each, sessionId })),
  )
  const providers = sessionIds.flatMap((sessionId) => findFederatedProvider(cx, sessionId) ?? [])
  return [...new Map([...all, ...providers].map((each) => [each.appId, each])).values()]
}

/** The identity provider of a session, if it requires federated logout. */
function findFederatedProvider(cx: Cx, sessionId: string): LogoutParticipant | undefined {
  const { status, vouched } = cx.store.state(cx, session, sessionId)
  const { idpId: appId = "", upstream } = vouched ?? {}
  const settings = findIdpById(cx, appId)?.idp.settings
  const isFederated = settings?.kind === "saml" && settings.federatedLogout
  if (status !== "active" || !upstream || !isFederated) return undefined
  return { appId, sessionId, upstream, format: "unspecified", nameId: upstream.value }
}

/** Starts the logout and returns its ID. Part of the transaction that ends the sessions. */
export function addSamlLogout(
  tx: Transaction,
  cx: Pick<Cx, "random">,
  {
    untold,
    afterwards,
  }: { readonly untold: readonly LogoutParticipant[]; readonly afterwards: LogoutDestination },
): string {
  const id = randomToken(cx.random, 20)
  const added: Draft<SamlLogoutEvent> = {
    type: "saml_logout.added",
    data: { afterwards },
    private: { untold },
  }
  tx.append(samlLogout, id, [added])
  return id
}

/** Records the result of one participant. */
export function recordLogoutResult(
  tx: Transaction,
  id: string,
  appId: string,
  isDone: boolean,
): void {
  const event: Draft<SamlLogoutEvent> = { type: "saml_logout.told", data: { appId, isDone } }
  tx.append(samlLogout, id, [event])
}

/** The page that continues the logout. */
export const samlLogoutPath = (id: string): string =>
  `/saml/v2/SLO?logout=${encodeURIComponent(id)}`
