import { randomToken } from "../../../kernel/crypto/random.ts"
import {
  aggregate,
  type Cx,
  type Draft,
  type Event,
  type Transaction,
} from "../../../store/index.ts"
import type { Binding } from "../../../xml/names.ts"
import { idpById, type UpstreamSession } from "../../idp/index.ts"
import { session } from "../../session/index.ts"
import { type SamlParticipant, samlParticipants } from "./session.ts"

/** Who is still to be told that a session is over. */
export type Untold = SamlParticipant & {
  readonly sessionId: string
  /** What an identity provider calls the session, whose id stands for that of the application. */
  readonly upstream?: UpstreamSession
}

/** Where the browser goes when everybody has been told. */
export type Afterwards =
  | { readonly kind: "location"; readonly url: string }
  /** To who began it, with an answer: an application, or an identity provider. */
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
      { readonly afterwards: Afterwards },
      { readonly untold: readonly Untold[] }
    >
  | Event<"saml_logout.told", { readonly appId: string; readonly isDone: boolean }>

export type SamlLogout =
  | { readonly status: "absent" }
  | {
      readonly status: "open"
      readonly created: number
      readonly afterwards: Afterwards
      /** The first one is told next. */
      readonly untold: readonly Untold[]
      /** Whether all who were told so far have ended the session, too. */
      readonly isComplete: boolean
    }

const hour = 3_600_000

/**
 * One sign-out on its way through the applications that speak SAML: each is told by the browser,
 * which comes back from there. The id is a secret of that browser.
 */
export const samlLogout = aggregate<SamlLogoutEvent, SamlLogout>({
  stream: "saml_logout",
  retention: "transient",
  expires: (state) => (state.status === "absent" ? undefined : state.created + hour),
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
 * Whom the sessions were told to by SAML, each application once; last the providers that they came
 * from, where these want to be told. All of them are told through the browser of the person: who
 * ends a session elsewhere, as an administrator does, has none to send. SAML's other way is SOAP
 * (SAML Bindings §3.2), which we don't speak; what was told then ends with its SessionNotOnOrAfter.
 */
export function untoldOf(cx: Cx, sessionIds: readonly string[]): readonly Untold[] {
  const all = sessionIds.flatMap((sessionId) =>
    samlParticipants(cx, sessionId).map((each) => ({ ...each, sessionId })),
  )
  const providers = sessionIds.flatMap((sessionId) => providerOf(cx, sessionId) ?? [])
  return [...new Map([...all, ...providers].map((each) => [each.appId, each])).values()]
}

/** The provider that a session came from, and where it ends with the session. */
function providerOf(cx: Cx, sessionId: string): Untold | undefined {
  const { status, vouched } = cx.store.state(cx, session, sessionId)
  const { idpId: appId = "", upstream } = vouched ?? {}
  const settings = idpById(cx, appId)?.idp.settings
  const isTold = settings?.kind === "saml" && settings.federatedLogout
  if (status !== "active" || !upstream || !isTold) return undefined
  return { appId, sessionId, upstream, format: "unspecified", nameId: upstream.value }
}

/** Begins to tell them; answers the id. Part of the step that ends the sessions. */
export function addSamlLogout(
  tx: Transaction,
  cx: Pick<Cx, "random">,
  { untold, afterwards }: { readonly untold: readonly Untold[]; readonly afterwards: Afterwards },
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

/** Notes what an application has made of it; the browser goes on. */
export function noteTold(tx: Transaction, id: string, appId: string, isDone: boolean): void {
  const told: Draft<SamlLogoutEvent> = { type: "saml_logout.told", data: { appId, isDone } }
  tx.append(samlLogout, id, [told])
}

/** The page that has the browser go on with it. */
export const samlLogoutPath = (id: string): string =>
  `/saml/v2/SLO?logout=${encodeURIComponent(id)}`
