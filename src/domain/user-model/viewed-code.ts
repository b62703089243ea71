import type { Editor, Event } from "../../store/index.ts"
import { verifierByCode } from "./contacts.ts"
import { type CredentialKind, noted, notedOrigin, originWith } from "./origins.ts"
import type { Human, ReturnedCode, User } from "./state.ts"
import { byUser, type Verifier, weaker } from "./verifier.ts"

/** An administrator read the code or link in a message to the user. */
export type ViewedCodeEvent = Event<
  "user.human.code.viewed",
  {
    readonly of: ReturnedCode | "password" | "passkey"
    /** When the code expires, ms UTC. */
    readonly expires: number
    /** Who verifies an address by the code from now on. */
    readonly verifier: Verifier
  }
>

type Viewed = Pick<ViewedCodeEvent, "data"> & {
  readonly id: string
  readonly editor: Editor
  readonly time: number
}

/** What these events make of a person; a part of the user's `evolve`. */
export const viewedCodeFolds = {
  "user.human.code.viewed": (state: User, event: Viewed): User => {
    if (!("kind" in state) || state.kind !== "human") return state
    return { ...state, ...viewedCode(state, event), ...withViewer(state, event) }
  },
}

/** From now on the code proves what a code proves that was returned to the viewer. */
function viewedCode(person: Human, { data }: Viewed): Partial<Human> {
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

/** Notes the viewer also where the code has been used and erased since. */
function withViewer(person: Human, event: Viewed) {
  const { of, expires } = event.data
  if (of === "email" || of === "phone") return {}
  const kind = kinds[of]
  const origin = originWith(notedOrigin(person, kind), event)
  return noted(person, kind, { origin: origin && { ...origin, expires } })
}

const kinds = {
  invite: "invitation",
  password: "password_code",
  passkey: "passkey_code",
} as const satisfies Readonly<Record<string, CredentialKind>>
