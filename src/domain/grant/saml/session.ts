import {
  aggregate,
  type Cx,
  type Draft,
  type Event,
  type Transaction,
} from "../../../store/index.ts"
import type { NameIdFormat } from "../../../xml/names.ts"
import { lifetimes, session } from "../../session/index.ts"
import { recordApplicationUse } from "../use.ts"

const dayMs = 86_400_000

type SamlAssertionData = { readonly appId: string; readonly format: NameIdFormat }

export type SamlSessionEvent = Event<
  "saml_session.added",
  SamlAssertionData & { readonly userId: string; readonly entityId: string },
  { readonly nameId: string }
>

/** A SAML application that received an assertion about the user, with the NameID it contained. */
export type SamlParticipant = SamlAssertionData & { readonly nameId: string }

type SamlSession = {
  /** ms UTC. */
  readonly last: number
  /** The newest NameID of each application, oldest first. */
  readonly participants: readonly SamlParticipant[]
}

const otherParticipants = ({ participants }: SamlSession, appId: string) =>
  participants.filter((each) => each.appId !== appId)

/**
 * The SAML applications that received assertions in a sign-in session; it has the ID of the
 * session.
 */
export const samlSession = aggregate<SamlSessionEvent, SamlSession>({
  stream: "saml_session",
  retention: "transient",
  // No session lasts longer without another sign-in.
  expires: ({ last }) => last + lifetimes.browserMost + dayMs,
  initial: { last: 0, participants: [] },
  evolve: {
    "saml_session.added": (state, { data, private: secret, time }) => {
      const { appId, format } = data
      const participant = { appId, format, nameId: secret?.nameId ?? "" }
      return { last: time, participants: [...otherParticipants(state, appId), participant] }
    },
  },
})

type AssertionInput = SamlParticipant & {
  readonly sessionId: string
  readonly userId: string
  readonly entityId: string
}

/**
 * Records that an application receives an assertion. A repeated NameID is not recorded again, so
 * that each application is notified once when the session ends.
 */
export function recordSamlAssertion(tx: Transaction, assertion: AssertionInput): void {
  const { sessionId, userId, entityId, appId, format, nameId } = assertion
  recordApplicationUse(tx, userId, appId)
  const { participants } = tx.state(samlSession, sessionId)
  const existing = participants.find((each) => each.appId === appId)
  if (existing?.nameId === nameId && existing.format === format) return
  const added: Draft<SamlSessionEvent> = {
    type: "saml_session.added",
    data: { appId, format, userId, entityId },
    private: { nameId },
  }
  tx.append(samlSession, sessionId, [added])
}

/** The SAML applications that received assertions in an active session. */
export const listSamlParticipants = (cx: Cx, sessionId: string): readonly SamlParticipant[] =>
  cx.store.state(cx, session, sessionId).status === "active"
    ? cx.store.state(cx, samlSession, sessionId).participants
    : []
