import {
  aggregate,
  type Cx,
  type Draft,
  type Event,
  type Transaction,
} from "../../../store/index.ts"
import type { NameIdFormat } from "../../../xml/names.ts"
import { lifetimes, session } from "../../session/index.ts"
import { noteUse } from "../use.ts"

const day = 86_400_000

type Told = { readonly appId: string; readonly format: NameIdFormat }

export type SamlSessionEvent = Event<
  "saml_session.added",
  Told & { readonly userId: string; readonly entityId: string },
  { readonly nameId: string }
>

/** An application that was told by SAML who somebody is, and by which name. */
export type SamlParticipant = Told & { readonly nameId: string }

type SamlSession = {
  /** ms UTC. */
  readonly last: number
  /** The newest name of each application, oldest first. */
  readonly participants: readonly SamlParticipant[]
}

const without = ({ participants }: SamlSession, appId: string) =>
  participants.filter((each) => each.appId !== appId)

/** Whom a sign-in session was told by SAML; its id is that of the session. */
export const samlSession = aggregate<SamlSessionEvent, SamlSession>({
  stream: "saml_session",
  retention: "transient",
  // No session goes on for longer without another sign-in.
  expires: ({ last }) => last + lifetimes.browserMost + day,
  initial: { last: 0, participants: [] },
  evolve: {
    "saml_session.added": (state, { data, private: secret, time }) => {
      const { appId, format } = data
      const participant = { appId, format, nameId: secret?.nameId ?? "" }
      return { last: time, participants: [...without(state, appId), participant] }
    },
  },
})

type Assertion = SamlParticipant & {
  readonly sessionId: string
  readonly userId: string
  readonly entityId: string
}

/**
 * Notes that an application is told who somebody is. A name that is told again is not noted again:
 * each application hears of the end of a session once.
 */
export function addSamlAssertion(tx: Transaction, assertion: Assertion): void {
  const { sessionId, userId, entityId, appId, format, nameId } = assertion
  noteUse(tx, userId, appId)
  const { participants } = tx.state(samlSession, sessionId)
  const known = participants.find((each) => each.appId === appId)
  if (known?.nameId === nameId && known.format === format) return
  const added: Draft<SamlSessionEvent> = {
    type: "saml_session.added",
    data: { appId, format, userId, entityId },
    private: { nameId },
  }
  tx.append(samlSession, sessionId, [added])
}

/** The applications that a session was told to by SAML, as long as it goes on. */
export const samlParticipants = (cx: Cx, sessionId: string): readonly SamlParticipant[] =>
  cx.store.state(cx, session, sessionId).status === "active"
    ? cx.store.state(cx, samlSession, sessionId).participants
    : []
