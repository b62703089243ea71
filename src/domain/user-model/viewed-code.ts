import type { Editor, Event } from "../../store/index.ts"
import { verifierByCode } from "./contacts.ts"
import { type CredentialKind, combineOrigin, recordedOrigin, withOriginOf } from "./origins.ts"
import type { Human, ReturnedCode, User } from "./state.ts"
import { byUser, type Verifier, weaker } from "./verifier.ts"

/** An administrator read the code or link in a message to the user. */
export type ViewedCodeEvent = Event<
  "user.human.code.viewed",
  {
    readonly of: ReturnedCode | "password" | "passkey"
    /** Expiration of the code, ms UTC. */
    readonly expires: number
    /** Who verifies an address with the code from now on. */
    readonly verifier: Verifier
  }
>

type ViewedEvent = Pick<ViewedCodeEvent, "data"> & {
  readonly id: string
  readonly editor: Editor
  readonly time: number
}

/** Reducers for these events; part of the user's `evolve`. */
export const viewedCodeReducers = {
  "user.human.code.viewed": (state: User, event: ViewedEvent): User => {
    if (!("kind" in state) || state.kind !== "human") return state
    return { ...state, ...applyViewed(state, event), ...recordViewer(state, event) }
  },
}

/** From now on the code proves no more than one that was returned to the viewer. */
function applyViewed(person: Human, { data }: ViewedEvent): Partial<Human> {
  const { of, verifier: viewer } = data
  const { emailCode, phoneCode, invite, passwordCode } = person
  if (of === "passkey") return {}
  if (of === "password") {
    const verifier = weaker(passwordCode?.verifier ?? byUser, viewer)
    return { passwordCode: passwordCode && { ...passwordCode, returned: true, verifier } }
  }
  const verifier = weaker(verifierByCode(person, of), viewer)
  const others = (person.returnedCodes ?? []).filter((each) => each !== of)
  const returnedCodes = [...others, of]
  if (of === "invite") return { returnedCodes, invite: invite && { ...invite, verifier } }
  if (of === "email") return { returnedCodes, emailCode: emailCode && { ...emailCode, verifier } }
  return { returnedCodes, phoneCode: phoneCode && { ...phoneCode, verifier } }
}

/** Records the viewer even if the code was already used and erased. */
function recordViewer(person: Human, event: ViewedEvent) {
  const { of, expires } = event.data
  if (of === "email" || of === "phone") return {}
  const kind = credentialKindByCode[of]
  const origin = combineOrigin(recordedOrigin(person, kind), event)
  return withOriginOf(person, kind, { origin: origin && { ...origin, expires } })
}

const credentialKindByCode = {
  invite: "invitation",
  password: "password_code",
  passkey: "passkey_code",
} as const satisfies Readonly<Record<string, CredentialKind>>
